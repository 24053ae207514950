"""Settings of the stand-in."""

from dataclasses import dataclass
from typing import Literal, Protocol

Binding = Literal["off", "error", "drop"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How strict the stand-in is, and how it sends."""

    binding: Binding = "error"
    """What happens to thinking whose prefix changed: nothing, 400, or dropped without an error."""
    rejects_rewrites: bool = False
    """Whether a request that does not append to the one before gets a 400; it is noted in any case."""
    piece_bytes: tuple[int, ...] = ()
    """Sizes of the pieces in which a stream is sent, repeated; empty: one piece per event."""
    window_tokens: int = 0
    """Prompts above this size get a 400; 0: no limit."""
    reported_tokens: int = 0
    """Reported as the size of prompts from the third turn on, so that clients compact; 0: the real size."""


class HasRules(Protocol):
    """The holder of the settings that apply now."""

    rules: Rules
