"""A definition in code: where it begins, where its signature and where it ends."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """Rows count from 0 and are included."""

    names: tuple[str, ...]
    row: int
    signature_end: int
    end: int
    depth: int
    """0 for the outermost definitions of the file."""
