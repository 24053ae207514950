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
    """A memory as a prompt shows it: when, who, what."""
    moment = memory.at or memory.valid_from or memory.created_at
    speaker = memory.name or memory.role
    return f"[{moment:%Y-%m-%d}] {speaker + ': ' if speaker else ''}{memory.content}"
