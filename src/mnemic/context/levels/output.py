"""Output of commands: its beginning, its end and errors; repeated lines once, with their count."""

import re
from collections.abc import Iterator

from mnemic.context.levels.excerpts import ExcerptLine, choose, clip, fit_lines
from mnemic.context.levels.lines import Lines
from mnemic.context.levels.sketch import Sketch, plural

HEAD_LINES, TAIL_LINES = 2, 3
"""Lines that come before the errors; more lines of both ends, by such portions, come after them."""
END_PORTIONS = 6
REPEATED_MIN = 3
"""Lines in a row that differ only in numbers, from which they are shown as one."""
OUTLINE_LINE_CHARS = 160
_SHAPE_CHARS = 160

_ERROR = re.compile(
    r"\b(?:errors?|fail(?:ed|ure|s|ing)?|panic(?:ked)?|[a-z]*exception|traceback|fatal|undefined|cannot"
    r"|can't|not found|no such|denied|refused|timed? ?out|assert\w*|expected|unexpected|exit (?:code|status)"
    r"|abort\w*|unresolved|segfault|killed|conflict)\b|[a-z]Error\b|^E  |✗|✘|--- FAIL",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(?<![0-9a-f])[0-9a-f]*\d[0-9a-f]*")


def sketch_output(lines: Lines) -> Sketch:
    """Works for every text."""
    pieces = _collapsed(lines)
    errors = [index for index, piece in enumerate(pieces) if _ERROR.search(piece.text)]
    order = list(_order(len(pieces), errors, pieces))
    ranked = [*(pieces[index].text for index in errors), *(piece.text for piece in pieces[-3:])]
    outline = list(dict.fromkeys(clip(text, OUTLINE_LINE_CHARS) for text in ranked if text.strip()))
    return Sketch(
        shape="output",
        title=f"{plural(len(errors), 'line')} of errors" if errors else "no error seen",
        units=len(errors),
        excerpt=lambda chars: choose(pieces, order, chars, lines.gaps),
        outline=lambda chars: fit_lines(outline, chars),
    )


def _collapsed(lines: Lines) -> list[ExcerptLine]:
    pieces: list[ExcerptLine] = []
    run: list[str] = []
    run_shape = ""
    for line in lines.shown:
        shape = _DIGITS.sub("0", line[:_SHAPE_CHARS])
        if run and shape != run_shape:
            pieces.extend(_pieces_of_run(run))
            run = []
        run_shape = shape
        run.append(line)
    pieces.extend(_pieces_of_run(run))
    return pieces


def _pieces_of_run(run: list[str]) -> Iterator[ExcerptLine]:
    if len(run) < REPEATED_MIN or not run[0].strip():
        yield from map(ExcerptLine, run)
        return
    yield ExcerptLine(
        f"{run[0]} (×{len(run)}, the last: {run[-1].strip()})"
        if run[0] != run[-1]
        else f"{run[0]} (×{len(run)})",
        len(run),
    )


def _order(count: int, errors: list[int], pieces: list[ExcerptLine]) -> Iterator[int]:
    yield from _ends(count, 0, 1)
    yield from errors
    yield from (index + 1 for index in errors if index + 1 < count)
    yield from _ends(count, 1, END_PORTIONS)
    # Lines of a shape that was not seen before say more than those that repeat it.
    seen: set[str] = set()
    repeated = []
    for index, piece in enumerate(pieces):
        shape = _DIGITS.sub("0", piece.text[:_SHAPE_CHARS])
        if shape in seen:
            repeated.append(index)
        else:
            seen.add(shape)
            yield index
    yield from repeated


def _ends(count: int, first: int, last: int) -> Iterator[int]:
    """Lines of both ends, by portions: the last ones, then the first ones, further inside each time."""
    for portion in range(first, last):
        end = count - portion * TAIL_LINES
        yield from range(end - 1, max(-1, end - 1 - TAIL_LINES), -1)
        yield from range(portion * HEAD_LINES, min((portion + 1) * HEAD_LINES, count))
