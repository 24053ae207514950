"""Documents that make a reader slow or greedy."""

import zlib

FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
TEXT = b"BT /F1 12 Tf 1 0 0 1 5 5 Tm (x) Tj ET "


def pdf_of(objects: list[bytes]) -> bytes:
    """A PDF file; the first object is its root."""
    file, offsets = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    entries = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    return (
        file
        + b"xref\n0 %d\n0000000000 65535 f \n%b" % (count, entries)
        + b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (count, len(file))
    )


def pdf_with(content: bytes, *, page_count: int = 1) -> bytes:
    """A PDF whose pages all show the same content, compressed."""
    kids = b"3 0 R " * page_count
    packed = zlib.compress(content, 9)
    return pdf_of(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Count %d/Kids[%b]>>" % (page_count, kids),
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Resources<</Font<</F1 4 0 R>>>>/Contents 5 0 R>>",
            FONT,
            b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(packed), packed),
        ]
    )


def slow_pdf() -> bytes:
    """7 KB that take minutes: 50,000 small texts, shown on 90 pages."""
    return pdf_with(TEXT * 50_000, page_count=90)


def page_bomb(depth: int = 40) -> bytes:
    """A tree of pages, each of whose nodes has the next one twice: 2 to the power of `depth` pages."""
    nodes = [
        b"<</Type/Pages/Count 2/Kids[%d 0 R %d 0 R]>>" % (number + 3, number + 3) for number in range(depth)
    ]
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"
    return pdf_of([b"<</Type/Catalog/Pages 2 0 R>>", *nodes, page])


def circular_pdf() -> bytes:
    """A node of the tree of pages that is its own child; the table of objects refers to itself."""
    return pdf_of(
        [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count 1/Kids[2 0 R]/Parent 2 0 R>>"]
    ).replace(b"/Root 1 0 R", b"/Root 1 0 R/Prev 9")
