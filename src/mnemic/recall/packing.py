"""Packing hits into the text for a prompt, within a token budget."""

from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.models.tokens import count_tokens
from mnemic.types.memory import MemoryRecord
from mnemic.types.recalled import Hit, Recalled, packed_on_first_read


@dataclass(frozen=True)
class Packed:
    """The text and its token count; a note if some hits did not fit."""

    text: str = ""
    token_count: int = 0
    notes: tuple[str, ...] = ()


def pack_hits(hits: Sequence[Hit], max_tokens: int | None) -> Packed:
    """One line per hit, best first. Without a budget nothing is packed yet: see `pack_on_first_read`.

    A hit that does not fit is left out whole; a shorter one after it may still fit.
    """
    return Packed() if max_tokens is None else _pack(hits, max_tokens)


def pack_on_first_read(recalled: Recalled) -> Recalled:
    """Pack all hits when `text` or `token_count` is first read: many callers need only the hits."""
    return packed_on_first_read(recalled, _pack_all)


def prompt_line(memory: MemoryRecord) -> str:
    """A memory as a prompt shows it: when, who or from which document and section, what."""
    moment = memory.at or memory.valid_from or memory.created_at
    origin = memory.name or memory.role or _passage(memory)
    return f"[{moment:%Y-%m-%d}] {origin + ': ' if origin else ''}{memory.content}"


def _pack(hits: Sequence[Hit], max_tokens: int | None) -> Packed:
    lines: list[str] = []
    used = 0
    for hit in hits:
        line = prompt_line(hit.memory)
        cost = count_tokens(line + "\n")
        if max_tokens is None or used + cost <= max_tokens:
            lines.append(line)
            used += cost
    left_out = len(hits) - len(lines)
    notes = (f"{left_out} of the hits did not fit into max_tokens.",) if left_out else ()
    return Packed("\n".join(lines), used, notes)


def _pack_all(hits: Sequence[Hit]) -> tuple[str, int]:
    packed = _pack(hits, None)
    return packed.text, packed.token_count


def _passage(memory: MemoryRecord) -> str | None:
    """The document and the section of a chunk, which ingestion notes in its metadata."""
    document, headings = memory.metadata.get("document"), memory.metadata.get("headings", [])
    if memory.category != "reference" or not isinstance(document, str) or not isinstance(headings, list):
        return None
    page = memory.metadata.get("page")
    return " › ".join(map(str, [document, *headings])) + (f", page {page}" if page is not None else "")
