"""Packing hits for a prompt, within a budget of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mnemic.types.memory import MemoryRecord
from mnemic.types.recalled import Hit


@dataclass(frozen=True)
class Packed:
    """The text, its tokens, and how many hits did not fit."""

    text: str
    token_count: int
    left_out_count: int


def pack(hits: Sequence[Hit], max_tokens: int | None, count_tokens: Callable[[str], int]) -> Packed:
    """One line per hit, best first. What does not fit is left out whole; shorter ones behind it may fit."""
    lines: list[str] = []
    used = 0
    for hit in hits:
        line = line_of(hit.memory)
        cost = count_tokens(line + "\n")
        if max_tokens is None or used + cost <= max_tokens:
            lines.append(line)
            used += cost
    return Packed("\n".join(lines), used, len(hits) - len(lines))


def pack_all(hits: Sequence[Hit], count_tokens: Callable[[str], int]) -> tuple[str, int]:
    """The text of all hits and its tokens, where there is no budget."""
    packed = pack(hits, None, count_tokens)
    return packed.text, packed.token_count


def line_of(memory: MemoryRecord) -> str:
    """A memory as a prompt shows it: when, who or from which document and section, what."""
    moment = memory.at or memory.valid_from or memory.created_at
    origin = memory.name or memory.role or _passage(memory)
    return f"[{moment:%Y-%m-%d}] {origin + ': ' if origin else ''}{memory.content}"


def _passage(memory: MemoryRecord) -> str | None:
    """The document and the section of a chunk, which ingestion notes in its metadata."""
    document, headings = memory.metadata.get("document"), memory.metadata.get("headings", [])
    if memory.category != "reference" or not isinstance(document, str) or not isinstance(headings, list):
        return None
    page = memory.metadata.get("page")
    return " › ".join(map(str, [document, *headings])) + (f", page {page}" if page is not None else "")
