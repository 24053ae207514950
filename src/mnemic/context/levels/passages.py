"""Answers a question from the full text of an object with the lines that it is about (a micro-fault).

A question may name line numbers, quote text, name definitions or other names, or use plain words. Rare terms
count more than common ones, and lines near each other count together. The best line comes with the lines
around it, a definition with its body; then other lines that match, and as much around them as fits.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mnemic.context.levels.code import definitions_of
from mnemic.context.levels.definitions import Definition
from mnemic.context.levels.kinds import file_of
from mnemic.context.levels.lines import Lines, read_lines
from mnemic.context.levels.names import fit_names, ranked_names
from mnemic.context.levels.question_terms import Term, line_ranges, terms_of
from mnemic.context.levels.term_matches import match_terms
from mnemic.context.levels.tokens import tokens_of

TOKENS_MAX = 400
RANKED_MAX = 60
"""Lines that match and are considered."""
BEST_SHARE = 0.5
"""Share of the budget for the best line and what is around it, before other lines that match."""
AROUND_ROWS = 2
WIDER_ROWS = 12
NEAR_ROWS, NEAR_WEIGHT = 3, 0.4
DEFINITION_WEIGHT = 2.0
_NOTE_TOKENS = 30
"""For the line that says how much is left out."""


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a text, with their numbers."""

    text: str
    tokens: int
    is_found: bool
    """False if no line matches; the text then says what the object is about."""
    lines: tuple[tuple[int, int], ...] = ()
    """First and last number of each run of lines."""
    lines_left_out: int = 0


def find_passage(text: str, question: str, tokens_max: int = TOKENS_MAX, *, path: str = "") -> Passage:
    """The lines that a question is about. `path`: the object's key, for the language of code."""
    lines = read_lines(text)
    asked = line_ranges(question)
    terms = terms_of(question)
    definitions = _named(definitions_of(lines, file_of(path)), terms)
    scores = _scores(lines, terms, definitions)
    ranked = [*_rows_of_numbers(lines, asked), *sorted(scores, key=lambda row: (-scores[row], row))][
        :RANKED_MAX
    ]
    if not ranked:
        return _not_found(text, lines, question, tokens_max)
    return _passage(lines, _chosen(lines, ranked, definitions, tokens_max))


def _scores(lines: Lines, terms: list[Term], definitions: dict[int, Definition]) -> dict[int, float]:
    """Worth of each row that holds a term."""
    own = match_terms(lines.shown, terms)
    for row in definitions:
        own[row] = own.get(row, 0.0) * DEFINITION_WEIGHT
    return {
        row: score
        + NEAR_WEIGHT * sum(own.get(row + step, 0.0) for step in range(-NEAR_ROWS, NEAR_ROWS + 1) if step)
        for row, score in own.items()
    }


def _named(definitions: list[Definition], terms: list[Term]) -> dict[int, Definition]:
    """Definitions whose name the question has, by their first row."""
    wanted = {term.text for term in terms if term.is_name} | {
        term.text for term in terms if len(term.text) >= 3
    }
    return {
        definition.row: definition
        for definition in definitions
        if any(name in wanted or name.lower() in wanted for name in definition.names)
    }


def _rows_of_numbers(lines: Lines, asked: list[tuple[int, int]]) -> Iterator[int]:
    for first, last in asked:
        yield from (row for row, number in enumerate(lines.numbers) if first <= number <= last)


def _chosen(
    lines: Lines, ranked: list[int], definitions: dict[int, Definition], tokens_max: int
) -> list[int]:
    chosen: dict[int, None] = {}
    left = tokens_max - _NOTE_TOKENS

    def take(rows: Iterable[int], until: float) -> None:
        nonlocal left
        for row in rows:
            if row in chosen or not 0 <= row < len(lines.shown):
                continue
            cost = tokens_of(_shown(lines, row)) + 1
            if left - cost < until:
                return
            chosen[row] = None
            left -= cost

    best = ranked[0]
    take([best], 0)
    take(_body(best, definitions, AROUND_ROWS), (1 - BEST_SHARE) * tokens_max)
    for row in ranked:
        take([row], 0)
    for row in ranked:
        take(_body(row, definitions, WIDER_ROWS), 0)
    return sorted(chosen)


def _body(row: int, definitions: dict[int, Definition], rows: int) -> Iterator[int]:
    """The rows of a definition, else the rows around, the nearest first."""
    if definition := definitions.get(row):
        yield from range(row, definition.end + 1)
    for step in range(1, rows + 1):
        yield row + step
        yield row - step


def _passage(lines: Lines, rows: list[int]) -> Passage:
    parts, ranges = [], []
    last = None
    for row in rows:
        if last is None or row > last + 1:
            parts.append("…")
            ranges.append((lines.numbers[row], lines.numbers[row]))
        ranges[-1] = (ranges[-1][0], lines.numbers[row])
        parts.append(_shown(lines, row))
        last = row
    left_out = len(lines.shown) - len(rows) + lines.left_out
    note = f"[{len(rows)} of {len(lines.shown) + lines.left_out} lines]"
    text = "\n".join([note, *parts[1:]])
    return Passage(text, tokens_of(text), is_found=True, lines=tuple(ranges), lines_left_out=left_out)


def _shown(lines: Lines, row: int) -> str:
    return lines.shown[row] if lines.is_numbered else f"{lines.numbers[row]}: {lines.shown[row]}"


def _not_found(text: str, lines: Lines, question: str, tokens_max: int) -> Passage:
    """Says so, and which names the text has."""
    names = fit_names(ranked_names(text), tokens_max)
    about = f"It has {len(lines.shown) + lines.left_out} lines, with names such as: {names}" if names else ""
    answer = f"[nothing found for: {' '.join(question.split())[:100]}] {about}".strip()
    return Passage(
        answer, tokens_of(answer), is_found=False, lines_left_out=len(lines.shown) + lines.left_out
    )
