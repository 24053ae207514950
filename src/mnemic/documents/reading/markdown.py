"""Markdown: the text is kept as it is; headings begin sections.

markdown-it-py finds the blocks of the text; what stands inside of a block is never parsed. Headings in lists,
quotations and code begin no section.
"""

import re
from itertools import pairwise

from markdown_it import MarkdownIt

from mnemic.documents.reading.text import DocumentText, Section, nested

_LINE_END = re.compile(r"\r\n?|\n")


def read(text: str) -> DocumentText:
    """The text with a section for each heading; the first heading of level 1 is the title."""
    sections = [Section(0)]
    headings: tuple[str, ...] = ()
    title = None
    lines = _lines(text)
    for level, heading, first_line, last_line in _headings(text):
        headings = nested(headings, level, heading)
        title = title or (headings[0] if level == 1 else None)
        sections.append(Section(lines[first_line][0], headings, body=lines[last_line][1]))
    return DocumentText(text, tuple(sections), title)


def _headings(text: str) -> list[tuple[int, str, int, int]]:
    """Level, text, first and last line of each heading that is not empty."""
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    tokens = parser.parse(text)
    return [
        (int(token.tag[1:]), content.content, token.map[0], token.map[1] - 1)
        for token, content in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map and content.content
    ]


def _lines(text: str) -> list[tuple[int, int]]:
    """Where each line begins and ends, without its line end."""
    lines, start = [], 0
    for match in _LINE_END.finditer(text):
        lines.append((start, match.start()))
        start = match.end()
    return [*lines, (start, len(text))]
