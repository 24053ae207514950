"""Detect the format of a document and read it: plain text, Markdown, HTML or PDF."""

from pathlib import PurePath
from typing import Literal, get_args

from mnemic.documents.reading.html import read_html
from mnemic.documents.reading.markdown import read_markdown
from mnemic.documents.reading.pdf import read_pdf
from mnemic.documents.reading.text import Reading
from mnemic.errors import InvalidInputError
from mnemic.types.checks import check_choice, check_text

MediaType = Literal["text/plain", "text/markdown", "text/html", "application/pdf"]
MEDIA_TYPES: tuple[str, ...] = get_args(MediaType)

SOURCE_MAX_BYTES = 64 << 20
TEXT_MAX_CHARACTERS = 20_000_000
"""A document of this size becomes about thirty thousand memories."""

_SUFFIXES: dict[str, MediaType] = {
    ".txt": "text/plain",
    ".text": "text/plain",
    ".log": "text/plain",
    ".rst": "text/plain",
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".pdf": "application/pdf",
}
_PDF_BEGINNING = b"%PDF-"


def read_source(content: str | bytes, media_type: str) -> Reading:
    """The text of a document; InvalidInputError says why it cannot be read."""
    if len(content) > SOURCE_MAX_BYTES:
        raise InvalidInputError(
            f"The document is {len(content):,} bytes long; the limit is {SOURCE_MAX_BYTES:,}."
        )
    if media_type == "application/pdf":
        if isinstance(content, str):
            raise InvalidInputError("Give a PDF as bytes (data), not as text (content).")
        reading = read_pdf(content)
    else:
        text = content if isinstance(content, str) else _decoded(content)
        check_text("content", text, max_characters=SOURCE_MAX_BYTES)
        reading = _read_text(text, media_type)
    check_text("the text of the document", reading.text, max_characters=TEXT_MAX_CHARACTERS)
    return reading


def media_type_of(media_type: str | None, name: str, data: bytes | None) -> MediaType:
    """The given format, else the one of the file name or the first bytes, else plain text."""
    if media_type is not None:
        check_choice("media_type", media_type, MEDIA_TYPES)
        return next(known for known in get_args(MediaType) if known == media_type)
    if data is not None and data.startswith(_PDF_BEGINNING):
        return "application/pdf"
    suffix = PurePath(name).suffix.lower()
    if data is not None and suffix not in _SUFFIXES:
        raise InvalidInputError(
            f"The name {name!a} does not tell the format of the document: give media_type, one of "
            f"{', '.join(MEDIA_TYPES)}. Other formats are not supported."
        )
    return _SUFFIXES.get(suffix, "text/plain")


def _read_text(text: str, media_type: str) -> Reading:
    if media_type == "text/html":
        return read_html(text)
    return read_markdown(text) if media_type == "text/markdown" else Reading(text)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"The document is not UTF-8 text: {error.reason} at byte {error.start}. Convert it first."
        ) from None
