"""The formats of documents: plain text, Markdown, HTML and PDF; and how large a document may be."""

from pathlib import PurePath
from typing import Literal, get_args

from mnemic.errors import InvalidInputError
from mnemic.types.checks import check_choice

MediaType = Literal["text/plain", "text/markdown", "text/html", "application/pdf"]
MEDIA_TYPES: tuple[str, ...] = get_args(MediaType)

SOURCE_MAX_BYTES = 64 << 20
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


def check_source(content: object, media_type: str) -> None:
    """InvalidInputError if the document is too large, no text or bytes, or a PDF that is given as text."""
    if not isinstance(content, str | bytes):
        raise InvalidInputError(f"The document must be text or bytes, not {type(content).__name__}.")
    if len(content) > SOURCE_MAX_BYTES:
        raise InvalidInputError(
            f"The document is {len(content):,} bytes long; the limit is {SOURCE_MAX_BYTES:,}."
        )
    if media_type == "application/pdf" and isinstance(content, str):
        raise InvalidInputError("Give a PDF as bytes (data), not as text (content).")
