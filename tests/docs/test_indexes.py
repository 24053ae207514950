"""The index of the documentation lists every page, and that of the decisions every decision by its title."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
LINK = re.compile(r"\[([^\]]+)\]\(([^)#]+)[^)]*\)")


def test_every_page_is_in_the_index() -> None:
    linked = {
        (DOCS / target).resolve() for _, target in LINK.findall((DOCS / "README.md").read_text("utf-8"))
    }
    pages = {page.resolve() for page in DOCS.rglob("*.md") if page.parent.name != "adr"}
    assert pages - linked - {DOCS / "README.md"} == set()


def test_every_decision_is_in_its_index_by_its_title() -> None:
    listed = LINK.findall((DOCS / "adr" / "README.md").read_text("utf-8"))
    titles = [
        (page.read_text("utf-8").splitlines()[0].partition(". ")[2], page.name)
        for page in sorted((DOCS / "adr").glob("0*.md"))
    ]
    assert listed == titles
