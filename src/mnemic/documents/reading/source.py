"""Read the text of a document in its format: plain text, Markdown, HTML or PDF."""

from importlib import import_module
from typing import Any

from mnemic.documents.reading.media_types import SOURCE_MAX_BYTES, check_source
from mnemic.documents.reading.text import PAGES_MAX, DocumentText
from mnemic.errors import InvalidInputError
from mnemic.types.checks import check_text

TEXT_MAX_CHARACTERS = 20_000_000
"""A document of this size becomes about thirty thousand memories."""

# The modules of the formats, each with a function `read`. A process reads one document and loads one of them.
_MODULES = {
    "text/markdown": "mnemic.documents.reading.markdown",
    "text/html": "mnemic.documents.reading.html",
    "application/pdf": "mnemic.documents.reading.pdf",
}


def read_source(content: str | bytes, media_type: str, *, pages_max: int = PAGES_MAX) -> DocumentText:
    """The text of a document; InvalidInputError says why it cannot be read."""
    check_source(content, media_type)
    if media_type == "application/pdf":
        reading = _read(content, media_type, pages_max=pages_max)
    else:
        text = content if isinstance(content, str) else _decoded(content)
        check_text("content", text, max_characters=SOURCE_MAX_BYTES)
        reading = _read(text, media_type) if media_type in _MODULES else DocumentText(text)
    check_text("the text of the document", reading.text, max_characters=TEXT_MAX_CHARACTERS)
    return reading


def _read(content: str | bytes, media_type: str, **options: Any) -> DocumentText:
    reading: DocumentText = import_module(_MODULES[media_type]).read(content, **options)
    return reading


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"The document is not UTF-8 text: {error.reason} at byte {error.start}. Convert it first."
        ) from None
