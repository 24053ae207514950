"""HTML: its text without tags, scripts, styles and navigation; headings begin sections.

Broken HTML is read as far as possible, as browsers do; reading never fails.

Navigation is no text: `<nav>`, elements with the role navigation, and paragraphs or list items that consist
of links within the page.
"""

import re

from mnemic.documents.reading.html_tokens import EndTag, StartTag, tokens_of
from mnemic.documents.reading.text import DocumentText, Section, nested

# The contents of these elements are not shown as text.
_HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object", "nav"})
# These begin the content of a page, also where a <nav> before them was never closed.
_CONTENT = frozenset({"main", "article", "section", "h1"})
# These begin and end a paragraph; all other tags stand inside of one.
_BLOCK = re.compile(
    "address|article|aside|blockquote|body|caption|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure|footer"
    "|form|h[1-6]|header|hr|html|li|main|nav|ol|p|pre|section|summary|table|tbody|tfoot|thead|tr|ul"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CELLS = frozenset({"td", "th"})
_BLANKS = re.compile(r"\s+")
# Signs that separate links, and those that a heading shows as a link to itself.
_SEPARATORS = re.compile(r"[\s|/·•>»→-]+")
_SELF_LINKS = frozenset({"¶", "#", "§", "🔗"})


def read(markup: str) -> DocumentText:
    """The text of a page with a blank line between paragraphs; its <title> is the title."""
    page = _Page()
    for token in tokens_of(markup):
        if isinstance(token, str):
            page.add_text(token)
        elif isinstance(token, EndTag):
            page.end(token.name)
        else:
            page.start(token)
    page.end_paragraph()
    title = _BLANKS.sub(" ", "".join(page.title)).strip()
    return DocumentText("".join(page.text), tuple(page.sections), title or None)


class _Page:
    """Collects paragraphs. `_hidden` is the tag whose content is skipped, `_depth` how often it is open."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.sections = [Section(0)]
        self.title: list[str] = []
        self._length = 0
        self._paragraph: list[str] = []
        self._outside_links: list[str] = []
        self._headings: tuple[str, ...] = ()
        self._heading_level: int | None = None
        self._hidden: str | None = None
        self._depth = 0
        self._in_title = self._in_pre = self._in_page_link = False

    def start(self, token: StartTag) -> None:
        """A start tag; one that ends with `/>` is also its own end tag."""
        tag = token.name
        self._in_title = tag == "title" or self._in_title
        if self._hidden == "nav" and tag in _CONTENT:
            self._hidden = None
        if self._hidden is not None:
            self._depth += tag == self._hidden
        elif tag in _HIDDEN or token.attributes.get("role") == "navigation":
            self.end_paragraph()
            self._hidden, self._depth = tag, 1
        else:
            self._start_visible(tag, token.attributes)
        if token.is_empty:
            self.end(tag)

    def _start_visible(self, tag: str, attributes: dict[str, str]) -> None:
        if _BLOCK.fullmatch(tag):
            self.end_paragraph()
            self._heading_level = _HEADINGS.get(tag)
            self._in_pre = tag == "pre"
        elif tag == "br":
            self._paragraph.append("\n")
        elif tag in _CELLS:
            self._paragraph.append(" ")
        elif tag == "a":
            self._in_page_link = attributes.get("href", "").startswith("#")

    def end(self, tag: str) -> None:
        """An end tag, whether or not its element is open."""
        self._in_title = self._in_title and tag != "title"
        if self._hidden is not None:
            self._depth -= tag == self._hidden
            self._hidden = self._hidden if self._depth else None
        elif _BLOCK.fullmatch(tag):
            self.end_paragraph()
        elif tag == "a":
            self._in_page_link = False

    def add_text(self, data: str) -> None:
        """Text between two tags."""
        if self._in_title:
            self.title.append(data)
        elif self._hidden is None and not (self._in_page_link and data.strip() in _SELF_LINKS):
            # Line ends in the source are blanks, except in <pre>; those that <br> makes stay.
            self._paragraph.append(data if self._in_pre else _BLANKS.sub(" ", data))
            if not self._in_page_link:
                self._outside_links.append(data)

    def end_paragraph(self) -> None:
        """Append the collected paragraph or heading to the text; skip it if it is navigation."""
        lines = (
            line.rstrip() if self._in_pre else line.strip() for line in "".join(self._paragraph).split("\n")
        )
        paragraph = "\n".join(lines).strip("\n")
        is_heading = self._heading_level is not None
        if paragraph.strip() and (is_heading or _SEPARATORS.sub("", "".join(self._outside_links))):
            start, self._length = self._length, self._length + len(paragraph) + 2
            self.text.append(f"{paragraph}\n\n")
            if self._heading_level is not None:
                self._headings = nested(self._headings, self._heading_level, paragraph)
                self.sections.append(Section(start, self._headings, body=self._length))
        self._paragraph.clear()
        self._outside_links.clear()
        self._heading_level, self._in_pre = None, False
