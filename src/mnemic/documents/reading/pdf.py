"""PDF: the text of its pages, by pypdf, which is the extra `documents`. A page is a section."""

import io
import logging

from mnemic.documents.reading.text import Reading, Section
from mnemic.errors import ConfigurationError, InvalidInputError

PAGES_MAX = 10_000

# pypdf reports every oddity of a file there; what cannot be read is said once, by the error.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


def read_pdf(data: bytes) -> Reading:
    """The text layer of a PDF; one that has none (a scan) is refused, since nothing would be found in it."""
    try:
        from pypdf import PdfReader  # noqa: PLC0415 (the extra `documents`)
    except ImportError as error:
        raise ConfigurationError(
            f"Reading PDF needs pypdf, which cannot be imported ({error}). "
            "Install it: pip install 'mnemic[documents]'."
        ) from error
    try:
        reader = PdfReader(io.BytesIO(data))
        if len(reader.pages) > PAGES_MAX:
            raise InvalidInputError(f"The PDF has {len(reader.pages):,} pages; the limit is {PAGES_MAX:,}.")
        pages = [page.extract_text() for page in reader.pages]
        title = reader.metadata.title if reader.metadata is not None else None
    except InvalidInputError:
        raise
    except Exception as error:
        # The files of the world break a parser in every way there is; each means the same to the caller.
        raise InvalidInputError(f"The PDF cannot be read: {type(error).__name__}: {error}.") from error
    if not any(page.strip() for page in pages):
        raise InvalidInputError("The PDF has no text in it, only pictures of it: run it through OCR first.")
    return _reading(pages, title.strip() or None if title else None)


def _reading(pages: list[str], title: str | None) -> Reading:
    sections, length = [], 0
    texts = [f"{_storable(page).strip()}\n\n" for page in pages]
    for number, text in enumerate(texts, start=1):
        sections.append(Section(length, page=number))
        length += len(text)
    return Reading("".join(texts), tuple(sections), title)


def _storable(text: str) -> str:
    """Fonts without a table of characters give NULs and halves of pairs, which no database takes."""
    return text.replace("\0", "").encode(errors="ignore").decode()
