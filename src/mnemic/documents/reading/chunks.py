"""Split a text into chunks so that a change moves few boundaries: only those near to it.

A text is a sequence of pieces: paragraphs, or the sentences of a long paragraph, or parts of a long sentence.
Pieces are joined until a chunk is full or, once it has a fair size, until a piece whose hash says so. So a
boundary depends on the words around it and not on all the text before: after a changed paragraph, boundaries
return to their old positions within a chunk or two, and later chunks keep their hash and their vector.

A heading is never a chunk of its own. It begins the first chunk of its section; a heading that is followed
by a deeper heading begins that one's chunk. A heading without any text under it is in no chunk, and neither
is navigation (lines that consist of links within the page).

Chunks do not overlap. The `context` of a chunk is what a reader needs from before it: the headings above it
and the last sentences in front of it. The context is embedded with the chunk and never shown, so a passage
near a boundary is found from both sides and is still recalled once.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest
from zlib import crc32

from mnemic.documents.reading.text import DocumentText, Section

CHUNK_MAX_CHARACTERS = 1_000
"""With its context about what the local model reads of a text (256 tokens)."""
CHUNK_FAIR_CHARACTERS = 400
OVERLAP_MAX_CHARACTERS = 160
CUT_ONE_IN = 3
"""Of the pieces that may end a chunk, one in this many does."""
HEADINGS_MAX_CHARACTERS = 400
"""Headings above a text that begin its first chunk; longer ones are text."""

_PARAGRAPH_ENDS = re.compile(r"\n[ \t\r]*\n\s*")
# Behind an initial ("Y. pestis", "e.g. ") and behind a common abbreviation a sentence goes on.
_ABBREVIATIONS = ("Mr", "Ms", "Mrs", "Dr", "St", "Prof", "Gen", "Col", "Fig", "vs", "al", "ca")
_GOES_ON = "".join(rf"(?<!\b{each})" for each in (r"\w", *_ABBREVIATIONS))
_SENTENCE_ENDS = re.compile(rf"(?:{_GOES_ON}\.|[!?…。！？])[\"'”’)\]]*\s+|\n\s*")
_WORD_ENDS = re.compile(r"\s+")
# A line of Markdown that consists of links within the page, such as an entry of a table of contents.
_PAGE_LINKS = re.compile(r"[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]*)?(?:\[[^\]\n]*\]\(#[^)\s]*\)[ \t|·•>»/-]*)+")

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class DocumentChunk:
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


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk stands in its text, and what a reader needs from before it."""

    start: int
    end: int
    context: str
    headings: tuple[str, ...]
    page: int | None


def chunks_of(reading: DocumentText) -> Iterator[DocumentChunk]:
    """The chunks of a document in order; blank parts are in none."""
    return chunks_at(reading.text, places_of(reading))


def places_of(reading: DocumentText) -> Iterator[Place]:
    """Where the chunks of a document stand, in order."""
    text = reading.text
    # A document of nothing but headings or links is text after all.
    spans = list(_all_spans(reading)) or [(Section(0), span) for span in _spans(text, 0, 0, len(text))]
    for section, (start, end) in spans:
        yield Place(start, end, _context(text, section, start), section.headings, section.page)


def chunks_at(text: str, places: Iterable[Place]) -> Iterator[DocumentChunk]:
    """The chunks at these places, each with its identity."""
    occurrences: Counter[bytes] = Counter()
    for index, place in enumerate(places):
        content = text[place.start : place.end]
        content_hash = sha256(content.encode()).digest()
        yield DocumentChunk(
            index=index,
            start=place.start,
            end=place.end,
            content=content,
            content_hash=content_hash,
            occurrence=occurrences[content_hash],
            context=place.context,
            headings=place.headings,
            page=place.page,
        )
        occurrences[content_hash] += 1


def _all_spans(reading: DocumentText) -> Iterator[tuple[Section, Span]]:
    """Where the chunks of each section begin and end."""
    first: int | None = None
    for section, following in zip_longest(reading.sections, reading.sections[1:]):
        end = following.start if following is not None else len(reading.text)
        first = section.start if first is None else first
        spans = list(_spans(reading.text, first, section.body_start, end))
        yield from ((section, span) for span in spans)
        if spans or following is None or not section.contains(following):
            first = None


def _spans(text: str, first: int, start: int, end: int) -> Iterator[Span]:
    """Where the chunks of a section begin and end; `first` to `start` are its headings.

    Headings that are too long to be ones are treated as text.
    """
    if start - first > HEADINGS_MAX_CHARACTERS:
        start = first
    chunk: Span | None = None
    for piece in _pieces(text, start, end, room=CHUNK_MAX_CHARACTERS - (start - first)):
        is_navigation = _is_navigation(text[slice(*piece)])
        if chunk is not None and (is_navigation or piece[1] - chunk[0] > CHUNK_MAX_CHARACTERS):
            yield chunk
            chunk = None
        if not is_navigation:
            chunk = next(_trimmed(text, first, piece[1])) if chunk is None else (chunk[0], piece[1])
        first = piece[1]
        if chunk is not None and _is_complete(chunk, text[slice(*piece)]):
            yield chunk
            chunk = None
    if chunk is not None:
        yield chunk


def _is_complete(chunk: Span, last_piece: str) -> bool:
    return chunk[1] - chunk[0] >= CHUNK_FAIR_CHARACTERS and crc32(last_piece.encode()) % CUT_ONE_IN == 0


def _is_navigation(piece: str) -> bool:
    return all(_PAGE_LINKS.fullmatch(line) for line in piece.splitlines())


def _pieces(text: str, start: int, end: int, *, room: int) -> Iterator[Span]:
    """Paragraphs; the sentences of a paragraph that is too long; parts of a sentence that is too long.

    The first paragraph shares its chunk with the headings, which leave it `room` characters.
    """
    for paragraph in _between(_PARAGRAPH_ENDS, text, start, end):
        if paragraph[1] - paragraph[0] <= room:
            yield paragraph
        else:
            for sentence in _between(_SENTENCE_ENDS, text, *paragraph):
                yield from _parts(text, *sentence, room)
        room = CHUNK_MAX_CHARACTERS


def _between(ends: re.Pattern[str], text: str, start: int, end: int) -> Iterator[Span]:
    """The spans between the matches of a pattern; a match belongs to the span before it."""
    for match in ends.finditer(text, start, end):
        yield from _trimmed(text, start, match.end())
        start = match.end()
    yield from _trimmed(text, start, end)


def _parts(text: str, start: int, end: int, room: int) -> Iterator[Span]:
    """Parts of a sentence that fit, split after a word if possible."""
    while end - start > room:
        limit = start + room
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
