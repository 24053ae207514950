"""Makes the levels of an object: level 1 about 30 % of the source, level 2 about 9 %, level 3 one line.

A level is deterministic and made in linear time, whatever the text; the limits have names in the modules of
the single kinds. Level 1 is an excerpt and a list of names, level 2 an outline and a longer list of names:
what an agent uses again after a text was paged out are names, and a name that it still sees needs no fault.
"""

from mnemic.context.levels.code import sketch_code
from mnemic.context.levels.data import sketch_data
from mnemic.context.levels.diff import sketch_diff
from mnemic.context.levels.excerpts import Excerpt
from mnemic.context.levels.facts import Counts, facts_of
from mnemic.context.levels.kinds import file_of, shown_file
from mnemic.context.levels.level import EVICTED, FULL, Level, LevelText, Source
from mnemic.context.levels.lines import Lines, read_lines
from mnemic.context.levels.names import fit_names, ranked_names
from mnemic.context.levels.output import sketch_output
from mnemic.context.levels.prose import sketch_prose
from mnemic.context.levels.search import sketch_search
from mnemic.context.levels.sketch import Sketch
from mnemic.context.levels.tokens import tokens_of

EXCERPT_SHARE, EXCERPT_NAMES_SHARE = 0.20, 0.08
OUTLINE_SHARE, OUTLINE_NAMES_SHARE = 0.025, 0.07
OUTLINE_CHARS_MIN = 140
HEADER_KEY_CHARS = 70
RULES = "rules-1"
"""Counts changes of the rules: levels that older ones made are made again."""
SAVING_MIN = 0.2
"""A level that saves less of the source is the source: a short text is worth its whole length."""


def make_level(source: Source, level: Level) -> LevelText:
    """The text of an object at a level, what it lost, what it can answer and when more is needed."""
    if level == FULL:
        return _whole(source, level)
    counts = Counts(lines=source.text.count("\n") + 1)
    if level == EVICTED:
        return LevelText(level, "", 0, *facts_of(level, None, counts))
    lines = read_lines(source.text)
    sketch = sketch_of(source, lines)
    body, counts = ("", counts) if level == 3 else _body(source, level, sketch, lines)
    text = with_header(source, sketch.title, body)
    if len(text) > len(source.text) * (1 - SAVING_MIN):
        return _whole(source, level)
    return LevelText(level, text, tokens_of(text), *facts_of(level, sketch, counts))


def sketch_of(source: Source, lines: Lines) -> Sketch:
    """By the type of the object, checked against the look of its text."""
    path = file_of(source.key)
    sketch: Sketch | None = None
    match source.type:
        case "data":
            sketch = sketch_data(source.text)
        case "diff":
            sketch = sketch_diff(lines) or (sketch_code(lines, path) if lines.is_numbered else None)
        case "search":
            sketch = sketch_search(lines, source.key)
        case "file":
            sketch = sketch_code(lines, path)
        case "command" | "other":
            sketch = _sketch_of_command(source, lines)
        case "prose" | "message":
            pass
    if sketch is None and source.type in ("prose", "message", "data"):
        sketch = sketch_prose(lines)
    return sketch or sketch_output(lines)


def _sketch_of_command(source: Source, lines: Lines) -> Sketch | None:
    """A command may print a file, JSON or hits."""
    shown = shown_file(source.key)
    if shown and (sketch := sketch_code(lines, shown)):
        return sketch
    return sketch_data(source.text) or sketch_search(lines)


def _body(source: Source, level: Level, sketch: Sketch, lines: Lines) -> tuple[str, Counts]:
    """Level 1: excerpt and names. Level 2: outline and names."""
    size = len(source.text)
    if level == 1:
        chars, names_chars = int(size * EXCERPT_SHARE), int(size * EXCERPT_NAMES_SHARE)
        excerpt = sketch.excerpt(chars)
    else:
        chars, names_chars = (
            max(OUTLINE_CHARS_MIN, int(size * OUTLINE_SHARE)),
            int(size * OUTLINE_NAMES_SHARE),
        )
        excerpt = Excerpt(sketch.outline(chars), lines=0)
    ranked = ranked_names(_text_with_names(source, sketch, lines), sketch.defined)
    if sketch.shape in ("search", "paths"):  # Paths are shown by their folder.
        ranked = [name for name in ranked if "/" not in name]
    spare = max(0, chars - len(excerpt.text)) if size * OUTLINE_SHARE > OUTLINE_CHARS_MIN else 0
    names = fit_names(ranked, names_chars + spare, shown=excerpt.text)
    counts = Counts(source.text.count("\n") + 1, excerpt.lines, len(ranked), len(names.split()))
    return "\n".join(filter(None, [excerpt.text, names and f"names: {names}"])), counts


def _text_with_names(source: Source, sketch: Sketch, lines: Lines) -> str:
    if lines.is_numbered:  # Without the tool's own words.
        return "\n".join(lines.content)
    if sketch.shape == "data":  # "\\nname" in a string of JSON is a line break and a name.
        return source.text.replace("\\n", " ").replace("\\t", " ")
    return source.text


def _whole(source: Source, level: Level) -> LevelText:
    return LevelText(level, source.text, tokens_of(source.text))


def with_header(source: Source, title: str, body: str) -> str:
    """A body under one line that says what the text was, how large, and how to get the rest."""
    return f"{_header(source, title)}\n{body}".rstrip("\n")


def _header(source: Source, title: str) -> str:
    key = " ".join(source.key.split())
    if len(key) > HEADER_KEY_CHARS:  # The end of a path says more than its beginning.
        key = (
            f"…{key[-HEADER_KEY_CHARS:]}" if source.type in ("file", "diff") else f"{key[:HEADER_KEY_CHARS]}…"
        )
    tool = source.tool.rpartition("__")[2] or source.type
    size = f"{source.text.count(chr(10)) + 1} lines"
    rest = f"rest: memory_query/memory_restore {source.handle or 'by this key'}"
    if source.follows_call:
        return f"[{size}, {title}; memory_query {source.handle}]"
    return f"[{tool} {key}: {size}, {title}; {rest}]"
