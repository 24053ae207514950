"""Prose: headings first, then sentences by how much of the text's own subject they hold."""

import re
from collections import Counter
from collections.abc import Iterator
from math import log

from mnemic.context.levels.excerpts import ExcerptLine, choose, clip, fit_lines
from mnemic.context.levels.lines import Lines
from mnemic.context.levels.sketch import Sketch, plural

OUTLINE_LINE_CHARS = 140
SENTENCE_WORDS_MAX = 200
SENTENCES_MAX = 40_000
"""A text of more sentences is taken by its lines."""
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+\S|\*\*[^*]{3,80}\*\*:?\s*$|[A-Z][^.!?]{2,70}:\s*$")
_BREAK = re.compile(r"(?<=[.!?。！？])\s+(?=\S)")
_WORD = re.compile(r"[^\W\d_]{4,40}")


def sketch_prose(lines: Lines) -> Sketch:
    """Works for every text."""
    pieces, rows = _sentences(lines)
    headings = [index for index, row in enumerate(rows) if _HEADING.match(lines.content[row])]
    ranked = _ranked(pieces)
    order = [*headings, *(index + 1 for index in headings if index + 1 < len(pieces)), *ranked]
    outline = [*(pieces[index].text for index in headings), *(pieces[index].text for index in ranked)]
    return Sketch(
        shape="prose",
        title=plural(len(headings), "heading") if headings else plural(len(pieces), "sentence"),
        units=len(headings),
        excerpt=lambda chars: choose(pieces, order, chars, lines.gaps),
        outline=lambda chars: fit_lines(
            (clip(text, OUTLINE_LINE_CHARS) for text in outline if text.strip()), chars
        ),
    )


def _sentences(lines: Lines) -> tuple[list[ExcerptLine], list[int]]:
    """Lines, cut at the ends of sentences, and the row of each."""
    if sum(map(len, map(_BREAK.findall, lines.shown))) > SENTENCES_MAX:
        return [ExcerptLine(line) for line in lines.shown], list(range(len(lines.shown)))
    pieces: list[ExcerptLine] = []
    rows: list[int] = []
    for row, line in enumerate(lines.shown):
        for part, sentence in enumerate(_BREAK.split(line)):
            # The row is counted once, however many sentences it has.
            pieces.append(ExcerptLine(sentence, lines=1 if part == 0 else 0))
            rows.append(row)
    return pieces, rows


def _ranked(pieces: list[ExcerptLine]) -> list[int]:
    """Sentences with words that the text repeats, long ones not preferred, earlier ones a little."""
    words = [list(dict.fromkeys(_words(piece.text))) for piece in pieces]
    counts = Counter(word for each in words for word in each)
    scores = [
        sum(log(counts[word]) for word in each) / (len(each) + 3) + (0.5 if index < 3 else 0.0)
        for index, each in enumerate(words)
    ]
    first = {piece.text.strip(): index for index, piece in reversed(list(enumerate(pieces)))}
    unique = (
        index for index, piece in enumerate(pieces) if words[index] and first[piece.text.strip()] == index
    )
    return sorted(unique, key=lambda index: -scores[index])


def _words(sentence: str) -> Iterator[str]:
    for count, match in enumerate(_WORD.finditer(sentence)):
        if count >= SENTENCE_WORDS_MAX:
            return
        yield match[0].lower()
