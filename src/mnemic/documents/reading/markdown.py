"""Markdown: the text is kept as it is; headings begin sections."""

import re

from mnemic.documents.reading.text import Reading, Section, nested

# A heading with # signs, an underlined heading, or the fence of a code block (in code, # begins a comment).
_LINES = re.compile(
    r"^ {0,3}(?:(?P<marks>\#{1,6})[ \t]+(?P<heading>[^\n]*?)[ \t]*\#*[ \t]*$"
    r"|(?P<underlined>[^\s\#>*+`~=-][^\n]*)\n {0,3}(?P<line>=+|-{2,})[ \t]*$"
    r"|(?P<fence>`{3,}|~{3,})[^\n]*$)",
    re.MULTILINE,
)


def read_markdown(text: str) -> Reading:
    """The text with a section for each heading; the first heading of level 1 is the title."""
    sections = [Section(0)]
    headings: tuple[str, ...] = ()
    title = fence = None
    for match in _LINES.finditer(text):
        if match["fence"]:
            fence = _fence_after(fence, match["fence"])
        elif fence is None and (heading := match["heading"] or match["underlined"]):
            level = len(match["marks"]) if match["marks"] else 1 + match["line"].startswith("-")
            headings = nested(headings, level, heading)
            title = title or (headings[0] if level == 1 else None)
            sections.append(Section(match.start(), headings, body=match.end()))
    return Reading(text, tuple(sections), title)


def _fence_after(open_fence: str | None, fence: str) -> str | None:
    """The fence that is open after this one: a block ends with at least as many of the same characters."""
    if open_fence is None:
        return fence
    return None if fence.startswith(open_fence) else open_fence
