"""Cut a text into chunks so that a change moves few cuts: only those near to it.

A text is a row of pieces: paragraphs, or the sentences of a long one, or parts of a long sentence. Pieces are
joined until a chunk is full, or, once it has a fair size, until a piece whose hash says so. So where cuts lie
depends on the words around them and not on all that stands before: behind a changed paragraph the cuts fall
back into their old places after a chunk or two, and everything further on keeps its hash and its vector.

Chunks do not overlap. What a chunk needs from before it, to be understood, is its `context`: the headings
above it and the last sentences in front of it. The context is embedded with the chunk and shown to nobody, so
that a passage near a cut is found from both sides and is still recalled once.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from zlib import crc32

from mnemic.documents.reading.text import Reading, Section

CHUNK_MAX_CHARACTERS = 1_000
"""With its context about what the local model reads of a text (256 tokens)."""
CHUNK_FAIR_CHARACTERS = 400
OVERLAP_MAX_CHARACTERS = 160
CUT_ONE_IN = 3
"""Of the pieces that may end a chunk, one in so many does."""

_PARAGRAPH_ENDS = re.compile(r"\n[ \t\r]*\n\s*")
_SENTENCE_ENDS = re.compile(r"[.!?…。！？][\"'”’)\]]*\s+|\n\s*")
_WORD_ENDS = re.compile(r"\s+")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document: `content` is what stands from `start` to `end`, in characters.

    `content_hash` and `occurrence` (how many equal ones stand before it) identify it within its document.
    """

    index: int
    start: int
    end: int
    content: str
    content_hash: bytes
    occurrence: int
    context: str
    headings: tuple[str, ...]
    page: int | None


def chunks_of(reading: Reading) -> Iterator[Chunk]:
    """The chunks of a document, in order; blank parts are in none."""
    occurrences: Counter[bytes] = Counter()
    index = 0
    ends = [section.start for section in reading.sections[1:]] + [len(reading.text)]
    for section, end in zip(reading.sections, ends, strict=True):
        for start, stop in _spans(reading.text, section.start, end):
            content = reading.text[start:stop]
            content_hash = sha256(content.encode()).digest()
            yield Chunk(
                index=index,
                start=start,
                end=stop,
                content=content,
                content_hash=content_hash,
                occurrence=occurrences[content_hash],
                context=_context(reading.text, section, start),
                headings=section.headings,
                page=section.page,
            )
            occurrences[content_hash] += 1
            index += 1


def _spans(text: str, start: int, end: int) -> Iterator[Span]:
    """Where chunks begin and end, without the blanks around them."""
    chunk: Span | None = None
    for piece in _pieces(text, start, end):
        if chunk is not None and piece[1] - chunk[0] > CHUNK_MAX_CHARACTERS:
            yield chunk
            chunk = None
        chunk = piece if chunk is None else (chunk[0], piece[1])
        if chunk[1] - chunk[0] >= CHUNK_FAIR_CHARACTERS and _ends_chunk(text[slice(*piece)]):
            yield chunk
            chunk = None
    if chunk is not None:
        yield chunk


def _ends_chunk(piece: str) -> bool:
    return crc32(piece.encode()) % CUT_ONE_IN == 0


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """Paragraphs; of a paragraph that is too long its sentences, of such a sentence parts of it."""
    for paragraph in _between(_PARAGRAPH_ENDS, text, start, end):
        if paragraph[1] - paragraph[0] <= CHUNK_MAX_CHARACTERS:
            yield paragraph
            continue
        for sentence in _between(_SENTENCE_ENDS, text, *paragraph):
            yield from _parts(text, *sentence)


def _between(ends: re.Pattern[str], text: str, start: int, end: int) -> Iterator[Span]:
    """What stands between the matches of a pattern, each match counted to what is before it."""
    for match in ends.finditer(text, start, end):
        yield from _trimmed(text, start, match.end())
        start = match.end()
    yield from _trimmed(text, start, end)


def _parts(text: str, start: int, end: int) -> Iterator[Span]:
    """Parts of a sentence that fit, cut behind a word if there is one."""
    while end - start > CHUNK_MAX_CHARACTERS:
        limit = start + CHUNK_MAX_CHARACTERS
        cuts = [match.end() for match in _WORD_ENDS.finditer(text, start + CHUNK_FAIR_CHARACTERS, limit)]
        cut = cuts[-1] if cuts else limit
        yield from _trimmed(text, start, cut)
        start = cut
    yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    """The span without blanks at its ends; nothing if it is all blank."""
    part = text[start:end]
    if stripped := part.strip():
        first = start + len(part) - len(part.lstrip())
        yield first, first + len(stripped)


def _context(text: str, section: Section, start: int) -> str:
    """The headings above a chunk, then the last whole sentences in front of it, else its last words."""
    earliest = max(section.start, start - OVERLAP_MAX_CHARACTERS)
    before = text[earliest:start]
    if earliest > section.start:
        ends = _SENTENCE_ENDS.search(before) or _WORD_ENDS.search(before)
        before = before[ends.end() :] if ends is not None else ""
    return "\n".join(part for part in (" › ".join(section.headings), before.strip()) if part)
