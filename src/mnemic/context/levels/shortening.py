"""Makes the levels of an object: level 1 about 30 % of the source, level 2 about 9 %, level 3 one line.

A level is deterministic and made in linear time, whatever the text; the limits have names in the modules of
the single kinds. Level 1 is an excerpt and a list of names, level 2 an outline and a longer list of names:
what an agent uses again after a text was paged out are names, and a name that it still sees needs no fault.
"""

from mnemic.context.levels.code import sketch_code
from mnemic.context.levels.data import sketch_data
from mnemic.context.levels.diff import sketch_diff
from mnemic.context.levels.facts import Counts, facts_of
from mnemic.context.levels.kinds import file_of
from mnemic.context.levels.level import EVICTED, FULL, Level, LevelText, Source
from mnemic.context.levels.lines import Lines, read_lines
from mnemic.context.levels.names import fit_names, ranked_names
from mnemic.context.levels.output import sketch_output
from mnemic.context.levels.prose import sketch_prose
from mnemic.context.levels.search import sketch_search
from mnemic.context.levels.sketch import Sketch
from mnemic.context.levels.tokens import tokens_of

EXCERPT_SHARE, EXCERPT_NAMES_SHARE = 0.20, 0.08
OUTLINE_SHARE, OUTLINE_NAMES_SHARE = 0.025, 0.065
HEADER_KEY_CHARS = 90
SAVING_MIN = 0.2
"""A level that saves less of the source is the source: a short text is worth its whole length."""


def make_level(source: Source, level: Level) -> LevelText:
    """The text of an object at a level, what it lost, what it can answer and when more is needed."""
    if level == FULL:
        return _whole(source, level)
    if level == EVICTED:
        return LevelText(level, "", 0, *facts_of(level, None, Counts(lines=source.text.count("\n") + 1)))
    lines = read_lines(source.text)
    sketch = sketch_of(source, lines)
    if level == 3:
        return _made(source, level, _header(source, sketch), sketch, Counts(lines=_count(source)))
    excerpt_share, names_share = (
        (EXCERPT_SHARE, EXCERPT_NAMES_SHARE) if level == 1 else (OUTLINE_SHARE, OUTLINE_NAMES_SHARE)
    )
    chars = int(len(source.text) * excerpt_share)
    if level == 1:
        excerpt = sketch.excerpt(chars)
        body, shown = excerpt.text, excerpt.lines
    else:
        body, shown = sketch.outline(chars), 0
    ranked = ranked_names(source.text, sketch.defined)
    spare = max(0, chars - len(body))
    names = fit_names(ranked, int(len(source.text) * names_share) + spare, shown=body)
    text = "\n".join(filter(None, [_header(source, sketch), body, names and f"names: {names}"]))
    counts = Counts(_count(source), shown, len(ranked), names.count(" ") + bool(names))
    return _made(source, level, text, sketch, counts)


def sketch_of(source: Source, lines: Lines) -> Sketch:
    """By the type of the object, checked against the look of its text."""
    path = file_of(source.key)
    sketch: Sketch | None = None
    if source.type == "data":
        sketch = sketch_data(source.text)
    elif source.type == "diff":
        sketch = sketch_diff(lines) or (sketch_code(lines, path) if lines.is_numbered else None)
    elif source.type == "search":
        sketch = sketch_search(lines)
    elif source.type == "file":
        sketch = sketch_code(lines, path)
    elif source.type in ("command", "other"):
        sketch = sketch_data(source.text) or sketch_search(lines)
    if sketch is None and source.type in ("prose", "message", "data"):
        sketch = sketch_prose(lines)
    return sketch or sketch_output(lines)


def _whole(source: Source, level: Level) -> LevelText:
    return LevelText(level, source.text, tokens_of(source.text))


def _made(source: Source, level: Level, text: str, sketch: Sketch, counts: Counts) -> LevelText:
    if len(text) > len(source.text) * (1 - SAVING_MIN):
        return _whole(source, level)
    return LevelText(level, text, tokens_of(text), *facts_of(level, sketch, counts))


def _header(source: Source, sketch: Sketch) -> str:
    """One line: what it was, how large, and how to get the rest."""
    what = " ".join(filter(None, [source.tool or source.type, " ".join(source.key.split())]))
    by = source.handle or "this key"
    return (
        f"[{what}: {_count(source)} lines, {sketch.title}; shortened, more: memory_query/memory_restore {by}]"
    )


def _count(source: Source) -> int:
    return source.text.count("\n") + 1
