"""Reading documents: HTML, Markdown, PDF, and what is none of them."""

import io
import sys
from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from mnemic.documents.reading.file import read_file
from mnemic.documents.reading.media_types import SOURCE_MAX_BYTES, media_type_of
from mnemic.documents.reading.source import read_source
from mnemic.documents.reading.text import Section
from mnemic.errors import ConfigurationError, InvalidInputError, NotFoundError

PAGE = """<!doctype html><html><head><title>My &amp; page</title><style>p { color: red }</style>
<script>if (1 < 2) alert("</p>")</script></head><body>
<h1>One</h1><p>Hi <b>you</b>
there<br>again.<ul><li>a<li>b</ul><noscript>no</noscript>
<h2>Two
lines</h2>text<pre>a
  b</pre><table><tr><td>1<td>2</table><svg><text>drawn</text></svg></body>"""


def pdf(*pages: str, title: str | None = None) -> bytes:
    """A PDF file with one line of text on each page."""
    writer = PdfWriter()
    font = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}
    for text in pages:
        page = writer.add_blank_page(200, 200)
        stream = DecodedStreamObject()
        stream.set_data(f"BT /F1 12 Tf 10 100 Td ({text}) Tj ET".encode())
        fonts = DictionaryObject({NameObject("/F1"): _dictionary(font)})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        page[NameObject("/Contents")] = writer._add_object(stream)
    if title is not None:
        writer.add_metadata({"/Title": title})
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def _dictionary(names: dict[str, str]) -> DictionaryObject:
    return DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()})


def test_html_is_its_words_in_paragraphs_without_scripts_and_styles() -> None:
    reading = read_source(PAGE, "text/html")
    assert reading.text == "One\n\nHi you there\nagain.\n\na\n\nb\n\nTwo lines\n\ntext\n\na\n  b\n\n1 2\n\n"
    assert reading.title == "My & page"
    assert reading.sections == (
        Section(0),
        Section(0, ("One",), body=5),
        Section(reading.text.index("Two"), ("One", "Two lines"), body=reading.text.index("text")),
    )


def test_navigation_of_a_page_is_no_text() -> None:
    markup = (
        "<body><nav><ul><li><a href='/'>Home</a></ul></nav><div role='navigation'><div>Trail</div></div>"
        "<ul><li><a href='#a'>A</a> | <a href='#b'>B</a></li></ul>"
        "<h1 id='a'>Title <a href='#a'>¶</a></h1><p>See <a href='#b'>below</a>.</p>"
        "<nav>never closed<main><p>The text.</p></main></body>"
    )
    assert read_source(markup, "text/html").text == "Title\n\nSee below.\n\nThe text.\n\n"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("no tags at all", "no tags at all"),
        ("<p>open", "open"),
        ("a</p></p></div>b", "a\n\nb"),
        ("<script>x", None),
        ("<svg><svg>x</svg>y</svg>z", "z"),
        ("a<!-- b -->c", "ac"),
        ("&lt;p&gt; &eacute;&#x1F600;", "<p> é😀"),
        ("<p></p><div> </div>", None),
        ("a < b and <", "a < b and <"),
    ],
)
def test_broken_html_is_read_as_far_as_it_makes_sense(markup: str, text: str | None) -> None:
    if text is None:
        with pytest.raises(InvalidInputError, match="the text of the document must not be empty"):
            read_source(markup, "text/html")
    else:
        assert read_source(markup, "text/html").text.strip() == text


def test_markdown_stays_as_it_is_and_its_headings_are_sections() -> None:
    text = "Intro.\n\n# A\n\ntext\n\n```\n# no heading\n```\n\nB\n===\n\nC\n---\n\n### D ###\nx\n\n* * *\n"
    reading = read_source(text, "text/markdown")
    assert (reading.text, reading.title) == (text, "A")
    assert [(text[each.start :].split("\n")[0], each.headings) for each in reading.sections] == [
        ("Intro.", ()),
        ("# A", ("A",)),
        ("B", ("B",)),
        ("C", ("B", "C")),
        ("### D ###", ("B", "C", "D")),
    ]


def test_the_pages_of_a_pdf_are_sections() -> None:
    reading = read_source(pdf("First page.", "Second page.", title="The PDF"), "application/pdf")
    assert reading.text == "First page.\n\nSecond page.\n\n"
    assert reading.sections == (Section(0, page=1), Section(13, page=2))
    assert reading.title == "The PDF"


@pytest.mark.parametrize(
    ("content", "media_type", "message"),
    [
        (b"%PDF-1.7 nonsense", "application/pdf", "The PDF cannot be read"),
        (pdf("x")[:-200], "application/pdf", "cannot be read|no text"),
        (pdf(""), "application/pdf", "no text.*OCR"),
        ("%PDF-", "application/pdf", "Give a PDF as bytes"),
        (b"\xff\xfe", "text/plain", "not UTF-8 text.*at byte 0"),
        ("", "text/plain", "content must not be empty"),
        (" \n ", "text/markdown", "content must not be empty"),
        ("a\0b", "text/plain", "NUL"),
        ("\ud800", "text/plain", "lone surrogate"),
        (b"x" * (SOURCE_MAX_BYTES + 1), "text/plain", "the limit is 67,108,864"),
        ("x" * 20_000_001, "text/plain", "the limit is 20,000,000"),
    ],
    ids=[
        "nonsense",
        "torn",
        "scan",
        "pdf as text",
        "latin",
        "empty",
        "blank",
        "nul",
        "surrogate",
        "huge",
        "long",
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(
    content: str | bytes, media_type: str, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_source(content, media_type)


def test_a_mark_of_byte_order_is_no_text() -> None:
    assert read_source(b"\xef\xbb\xbfText.", "text/plain").text == "Text."


@pytest.mark.parametrize(
    ("media_type", "name", "data", "kind"),
    [
        (None, "notes.MD", b"x", "text/markdown"),
        (None, "page.htm", b"x", "text/html"),
        (None, "a.txt", b"x", "text/plain"),
        (None, "no ending", b"%PDF-1.4", "application/pdf"),
        (None, "no ending", None, "text/plain"),
        ("text/html", "a.txt", b"x", "text/html"),
    ],
)
def test_what_kind_a_document_is_comes_from_the_caller_or_the_name(
    media_type: str | None, name: str, data: bytes | None, kind: str
) -> None:
    assert media_type_of(media_type, name, data) == kind


@pytest.mark.parametrize(
    ("media_type", "name", "message"),
    [
        (None, "picture.png", "does not tell the format of the document: give media_type, one of text/plain"),
        ("image/png", "a", "media_type must be one of text/plain"),
        (5, "a", "media_type must be one of"),
    ],
)
def test_other_kinds_are_refused(media_type: str | None, name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        media_type_of(media_type, name, b"x")


def test_without_pypdf_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'mnemic\[documents\]'"):
        read_source(pdf("x"), "application/pdf")


def test_a_file_is_read_whole_and_what_is_none_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"Text.")
    assert read_file(file) == read_file(str(file)) == b"Text."
    for missing in (tmp_path / "b.txt", tmp_path, "a\0b"):
        with pytest.raises(NotFoundError, match="cannot be read"):
            read_file(missing)
    with pytest.raises(InvalidInputError, match="path must be"):
        read_file(b"a.txt")  # type: ignore[arg-type]
    monkeypatch.setattr("mnemic.documents.reading.file.SOURCE_MAX_BYTES", 4)
    with pytest.raises(InvalidInputError, match="larger than 4 bytes"):
        read_file(file)
