"""HTML: its words without tags, scripts and styles; headings say where sections begin.

Broken HTML is read as far as it makes sense, as browsers do; there is no such thing as an error in it.
"""

import re
from html.parser import HTMLParser

from mnemic.documents.reading.text import Reading, Section, nested

# What stands in these is no text for people.
_SILENT = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object"})
# These begin and end a paragraph; all other tags stand inside of one.
_BLOCK = re.compile(
    "address|article|aside|blockquote|body|caption|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure|footer"
    "|form|h[1-6]|header|hr|html|li|main|nav|ol|p|pre|section|summary|table|tbody|tfoot|thead|tr|ul"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CELLS = frozenset({"td", "th"})
_BLANKS = re.compile(r"\s+")


def read_html(markup: str) -> Reading:
    """The text of a page, a blank line between paragraphs; its <title> is the title."""
    parser = _Parser()
    parser.feed(markup)
    parser.close()
    parser.end_paragraph()
    title = _BLANKS.sub(" ", "".join(parser.title)).strip()
    return Reading("".join(parser.text), tuple(parser.sections), title or None)


class _Parser(HTMLParser):
    """Gathers paragraphs. `_silent` is the tag whose content is left out, `_depth` how often it is open."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text: list[str] = []
        self.sections = [Section(0)]
        self.title: list[str] = []
        self._length = 0
        self._paragraph: list[str] = []
        self._headings: tuple[str, ...] = ()
        self._heading_level: int | None = None
        self._silent: str | None = None
        self._depth = 0
        self._in_title = self._in_pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title" or self._in_title
        if self._silent is not None:
            self._depth += tag == self._silent
        elif tag in _SILENT:
            self._silent, self._depth = tag, 1
        elif _BLOCK.fullmatch(tag):
            self.end_paragraph()
            self._heading_level = _HEADINGS.get(tag)
            self._in_pre = tag == "pre"
        elif tag == "br":
            self._paragraph.append("\n")
        elif tag in _CELLS:
            self._paragraph.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._in_title = self._in_title and tag != "title"
        if self._silent is not None:
            self._depth -= tag == self._silent
            self._silent = self._silent if self._depth else None
        elif _BLOCK.fullmatch(tag):
            self.end_paragraph()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif self._silent is None:
            # Line ends in the source are blanks, except in <pre>; those that <br> makes stay.
            self._paragraph.append(data if self._in_pre else _BLANKS.sub(" ", data))

    def end_paragraph(self) -> None:
        """Put what was gathered behind the text, as a paragraph or as a heading."""
        lines = (
            line.rstrip() if self._in_pre else line.strip() for line in "".join(self._paragraph).split("\n")
        )
        paragraph = "\n".join(lines).strip("\n")
        if paragraph.strip():
            if self._heading_level is not None:
                self._headings = nested(self._headings, self._heading_level, paragraph)
                self.sections.append(Section(self._length, self._headings))
            self.text.append(f"{paragraph}\n\n")
            self._length += len(paragraph) + 2
        self._paragraph.clear()
        self._heading_level, self._in_pre = None, False
