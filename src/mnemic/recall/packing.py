"""Packing hits into the text for a prompt, within a token budget.

Each hit is an entry that starts at the beginning of a line with square brackets: the date and, if the memory
belongs to another owner, who shares it. Memories hold text of strangers, which must not look like another
entry or hide whose text it is. So everything after the brackets, name and content, is indented from its
second line on, and a name inside the brackets is escaped: no memory and no name can begin an entry or close
the brackets. If the hits are weak, a sentence in the first line says so; no entry can begin like it, because
entries begin with a bracket.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.models.tokens import count_tokens
from mnemic.types.memory import MemoryRecord
from mnemic.types.recalled import Hit, Outcome, Recalled, packed_on_first_read

INDENT = "  "
_PLAIN_NAME = re.compile(r"[\w@.+-]+")


@dataclass(frozen=True)
class Packed:
    """The text and its token count; a note if some hits did not fit."""

    text: str = ""
    token_count: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Packing:
    """What a text says besides its memories: whose are shared with the reader, and whether they are weak."""

    reader: str | None
    outcome: Outcome
    confidence: float

    def pack(self, hits: Sequence[Hit], max_tokens: int | None) -> Packed:
        """One entry per hit, best first. Without a budget nothing is packed yet: see `on_first_read`.

        A hit that does not fit is left out whole; a shorter one after it may still fit.
        """
        return Packed() if max_tokens is None else self.pack_within(hits, max_tokens)

    def on_first_read(self, recalled: Recalled) -> Recalled:
        """Pack all hits when `text` or `token_count` is first read: many callers need only the hits."""
        return packed_on_first_read(recalled, self._pack_all)

    def pack_within(self, hits: Sequence[Hit], max_tokens: int | None) -> Packed:
        """The same at once; None sets no limit."""
        head = weakness(self.confidence) if self.outcome == "weak" else None
        lines = [] if head is None else [head]
        used = 0 if head is None else count_tokens(head + "\n")
        packed_count = 0
        for hit in hits:
            entry = _entry(hit, self.reader)
            cost = count_tokens(entry + "\n")
            if max_tokens is None or used + cost <= max_tokens:
                lines.append(entry)
                used += cost
                packed_count += 1
        left_out = len(hits) - packed_count
        notes = (f"{left_out} of the hits did not fit into max_tokens.",) if left_out else ()
        # The sentence alone says nothing, and may itself be longer than the budget.
        return Packed("\n".join(lines), used, notes) if packed_count else Packed(notes=notes)

    def _pack_all(self, hits: Sequence[Hit]) -> tuple[str, int]:
        packed = self.pack_within(hits, None)
        return packed.text, packed.token_count


def weakness(confidence: float) -> str:
    """The sentence that marks weak hits."""
    return f"These memories may not answer the question (confidence {confidence:.2f})."


def prompt_line(memory: MemoryRecord) -> str:
    """A memory for a reranker: when, who or from which document and section, what."""
    return f"[{_day(memory)}] {_said(memory)}"


def sharing_label(memory_owner: str, reader: str | None) -> str | None:
    """Who shares a memory with the reader, as text inside brackets; None for the reader's own memory."""
    if memory_owner == reader:
        return None
    plain = _PLAIN_NAME.fullmatch(memory_owner) is not None and memory_owner.isprintable()
    return f"shared by {memory_owner if plain else _quoted(memory_owner)}"


def indented(text: str) -> str:
    """The text with an indent on every line but the first, whatever character ends its lines."""
    first, *others = text.splitlines() or [""]
    return "\n".join([first, *(f"{INDENT}{line}" if line else "" for line in others)])


def _entry(hit: Hit, reader: str | None) -> str:
    """A memory as a prompt shows it: when, outdated since, shared by whom; who or which document; what."""
    memory = hit.memory
    outdated = f"outdated since {hit.outdated_since:%Y-%m-%d}" if hit.outdated_since is not None else None
    head = ", ".join(filter(None, (_day(memory), outdated, sharing_label(memory.owner, reader))))
    return f"[{head}] {indented(_said(memory))}"


def _quoted(name: str) -> str:
    """A name in quotation marks; what could end them, the brackets or the line is escaped."""
    is_safe = (character.isprintable() and character not in '"\\[]' for character in name)
    escaped = (c if safe else f"\\u{{{ord(c):x}}}" for c, safe in zip(name, is_safe, strict=True))
    return f'"{"".join(escaped)}"'


def _day(memory: MemoryRecord) -> str:
    return f"{memory.at or memory.valid_from or memory.created_at:%Y-%m-%d}"


def _said(memory: MemoryRecord) -> str:
    origin = memory.name or memory.role or passage_of(memory)
    return f"{origin}: {memory.content}" if origin else memory.content


def passage_of(memory: MemoryRecord) -> str | None:
    """The document and the section of a chunk, which ingestion notes in its metadata."""
    document, headings = memory.metadata.get("document"), memory.metadata.get("headings", [])
    if memory.category != "reference" or not isinstance(document, str) or not isinstance(headings, list):
        return None
    page = memory.metadata.get("page")
    return " › ".join(map(str, [document, *headings])) + (f", page {page}" if page is not None else "")
