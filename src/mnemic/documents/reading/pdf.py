"""PDF: the text of its pages, read by pypdf (extra `documents`). A page is a section."""

import io
import logging

from mnemic.documents.reading.text import PAGES_MAX, DocumentText, Section, storable
from mnemic.errors import ConfigurationError, InvalidInputError, install_extra

# pypdf logs every oddity of a file; the error below reports once what cannot be read.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


def read(data: bytes, *, pages_max: int = PAGES_MAX) -> DocumentText:
    """The text layer of a PDF. A PDF without one (a scan) is refused: nothing could be found in it."""
    try:
        from pypdf import PdfReader  # noqa: PLC0415 (the extra `documents`)
    except ImportError as error:
        raise ConfigurationError(
            f"Reading PDF needs pypdf, which cannot be imported ({error}). {install_extra('documents')}."
        ) from error
    try:
        reader = PdfReader(io.BytesIO(data))
        page_count = len(reader.pages)
        if page_count > pages_max:
            raise InvalidInputError(
                f"The PDF has {page_count:,} pages; the limit is {pages_max:,}. Split the file, or raise the "
                "setting document_max_pages."
            )
        pages = [page.extract_text() for page in reader.pages]
        title = reader.metadata.title if reader.metadata is not None else None
    except (InvalidInputError, MemoryError):
        raise
    except Exception as error:
        # Broken files raise all kinds of errors in the parser; to the caller they mean the same.
        raise InvalidInputError(f"The PDF cannot be read: {type(error).__name__}: {error}.") from error
    if not any(page.strip() for page in pages):
        raise InvalidInputError("The PDF contains no text, only images: run OCR on it first.")
    return _reading(pages, title.strip() or None if title else None)


def _reading(pages: list[str], title: str | None) -> DocumentText:
    sections, length = [], 0
    texts = [f"{storable(page).strip()}\n\n" for page in pages]
    for number, text in enumerate(texts, start=1):
        sections.append(Section(length, page=number))
        length += len(text)
    return DocumentText("".join(texts), tuple(sections), title)
