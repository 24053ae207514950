"""Chooses lines of a text within a budget of characters, and shows where lines are missing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

_GAP_CHARS = 14
"""Characters of "… 1234 lines" and the end of the line."""

Gaps = Literal["counted", "marked", "unmarked"]
"""How a gap is shown: with its number of lines; as a mark, if lines have numbers; not at all."""
_GAP_COSTS: Mapping[Gaps, int] = {"counted": _GAP_CHARS, "marked": 2, "unmarked": 0}


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """A line of an excerpt, and how many lines of the source it stands for."""

    text: str
    lines: int = 1


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Chosen lines in the order of the text, and how many lines of the source it stands for."""

    text: str
    lines: int


def choose(
    pieces: Sequence[ExcerptLine], order: Iterable[int], chars_max: int, gaps: Gaps = "counted"
) -> Excerpt:
    """Take pieces in the given order of worth until the budget is used; show them in their own order."""
    chosen: set[int] = set()
    used = _GAP_CHARS
    for index in order:
        if index in chosen:
            continue
        # A gap is paid by the line after it. If that line's neighbour is chosen later, it pays another.
        gap = 0 if index - 1 in chosen else _GAP_COSTS[gaps]
        cost = len(pieces[index].text) + 1 + gap
        if used + cost > chars_max:
            if chars_max - used < 2 * _GAP_CHARS:
                break
            continue
        chosen.add(index)
        used += cost
    places = sorted(chosen)
    return Excerpt(_joined(pieces, places, gaps), sum(pieces[place].lines for place in places))


def fit_lines(lines: Iterable[str], chars_max: int) -> str:
    """The first lines that fit; a last line says how many more there are."""
    fitting, used, missing = [], _GAP_CHARS, 0
    for line in lines:
        if missing or used + len(line) + 1 > chars_max:
            missing += 1
            continue
        fitting.append(line)
        used += len(line) + 1
    if missing and fitting:
        fitting.append(f"… {missing} more")
    return "\n".join(fitting)


def fit_words(words: Iterable[str], chars_max: int) -> str:
    """The first words that fit, in one line."""
    fitting, used, missing = [], _GAP_CHARS, 0
    for word in words:
        if used + len(word) + 1 > chars_max:
            missing += 1
            continue
        fitting.append(word)
        used += len(word) + 1
    if missing and fitting:
        fitting.append(f"… {missing} more")
    return " ".join(fitting)


def clip(text: str, chars_max: int) -> str:
    """A text of one line without the spaces around it; a mark shows that it was cut."""
    stripped = text.strip()
    return stripped if len(stripped) <= chars_max else f"{stripped[: chars_max - 1]}…"


def _joined(pieces: Sequence[ExcerptLine], places: list[int], gaps: Gaps) -> str:
    parts, last = [], -1
    for place in [*places, len(pieces)]:
        missing = sum(pieces[index].lines for index in range(last + 1, place))
        if missing and gaps != "unmarked":
            parts.append(f"… {missing} lines" if gaps == "counted" else "…")
        if place < len(pieces):
            parts.append(pieces[place].text)
        last = place
    return "\n".join(parts)
