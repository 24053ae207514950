"""Code: signatures first, then the lines above them and the first lines of bodies."""

from collections.abc import Iterator
from os.path import splitext

from mnemic.context.levels.definition_rules import find_definitions
from mnemic.context.levels.definitions import Definition
from mnemic.context.levels.excerpts import Excerpt, ExcerptLine, choose, fit_words
from mnemic.context.levels.lines import Lines
from mnemic.context.levels.sketch import Sketch, plural
from mnemic.context.levels.syntax import parse_definitions

BODY_ROWS = 4
"""Rows of each body that are taken one after the other, before the rest of the text."""
OUTLINE_NAME_CHARS = 90


def sketch_code(lines: Lines, path: str) -> Sketch | None:
    """None if the text defines nothing."""
    definitions = definitions_of(lines, path)
    if not definitions:
        return None

    def excerpt(chars: int) -> Excerpt:
        pieces = [ExcerptLine(line) for line in lines.shown]
        return choose(pieces, list(_order(definitions, lines)), chars, lines.gaps)

    return Sketch(
        shape="code",
        title=plural(len(definitions), "definition"),
        units=len(definitions),
        excerpt=excerpt,
        outline=lambda chars: fit_words(_outline(definitions, lines), chars),
        defined=tuple(dict.fromkeys(name for definition in definitions for name in definition.names)),
    )


def definitions_of(lines: Lines, path: str) -> list[Definition]:
    """Definitions by the grammar of the file's extension, else by rules."""
    extension = splitext(path)[1].lower()
    parsed = parse_definitions("\n".join(lines.content), extension)
    return find_definitions(lines.content) if parsed is None else parsed


def _order(definitions: list[Definition], lines: Lines) -> Iterator[int]:
    ranked = sorted(definitions, key=lambda definition: definition.depth)
    for definition in ranked:
        yield from range(definition.row, definition.signature_end + 1)
    for definition in ranked:
        if definition.row > 0 and lines.content[definition.row - 1].strip():
            yield definition.row - 1
    for step in range(1, BODY_ROWS + 1):
        for definition in ranked:
            row = definition.signature_end + step
            if row <= definition.end and lines.content[row].strip(" \t{}();"):
                yield row
    yield from (row for row, content in enumerate(lines.content) if content.strip(" \t{}();"))


def _outline(definitions: list[Definition], lines: Lines) -> list[str]:
    """Each defined name with the number of its line, outermost definitions first."""
    return [
        f"{name}:{lines.numbers[definition.row]}"
        for definition in sorted(definitions, key=lambda definition: definition.depth)
        for name in definition.names
        if len(name) <= OUTLINE_NAME_CHARS
    ]
