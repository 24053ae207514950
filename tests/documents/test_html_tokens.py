"""HTML tokens: what browsers see in tags, comments and broken markup."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.documents.reading.html_tokens import EndTag, StartTag, Token, tokens_of

NAMES = st.sampled_from(["p", "a", "div", "h1", "svg", "br", "X-Y"])
VALUES = st.text(st.sampled_from("ab #/=.é"), max_size=6)
TAGS = st.one_of(
    st.builds(lambda name, value: f'<{name} href="{value}" b>', NAMES, VALUES),
    st.builds(lambda name, value: f"<{name} title='{value}'/>", NAMES, VALUES),
    st.builds("</{}>".format, NAMES),
    st.builds("<!-- {} -->".format, VALUES),
    st.builds("<script>{}</script>".format, VALUES),
)
PAGES = st.lists(
    st.one_of(TAGS, st.text(st.sampled_from("ab &;>\n"), max_size=5).map(lambda text: f"{text} "))
).map("".join)


class Reference(HTMLParser):
    """Tokens by the parser of the standard library."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[Token] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tokens.append(StartTag(tag, {name: value or "" for name, value in reversed(attrs)}, False))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tokens.append(StartTag(tag, {name: value or "" for name, value in reversed(attrs)}, True))

    def handle_endtag(self, tag: str) -> None:
        self.tokens.append(EndTag(tag))

    def handle_data(self, data: str) -> None:
        self.tokens.append(data)


def joined(tokens: list[Token]) -> list[Token]:
    """Neighbouring texts as one."""
    result: list[Token] = []
    for token in tokens:
        if isinstance(token, str) and result and isinstance(result[-1], str):
            result[-1] += token
        else:
            result.append(token)
    return result


@given(PAGES)
def test_ordinary_markup_has_the_tokens_of_the_standard_library(markup: str) -> None:
    reference = Reference()
    reference.feed(markup)
    reference.close()
    assert joined(list(tokens_of(markup))) == joined(reference.tokens)


@pytest.mark.parametrize(
    ("markup", "tokens"),
    [
        ("<a b=c/>", [StartTag("a", {"b": "c/"}, False)]),
        ("<A B B=2 / c>", [StartTag("a", {"b": "", "c": ""}, False)]),
        ("<a =x=y>", [StartTag("a", {"=x": "y"}, False)]),
        ("<a b='x", []),
        ("a</>b</ c>d", ["a", "b", "d"]),
        ("a<!-->b<!--->c<!-- --!>d<!--", ["a", "b", "c", "d"]),
        ("<!doctype html><?xml ?>x", ["x"]),
        ("<title>a &amp; <b></title>", [StartTag("title", {}, False), "a & <b>", EndTag("title")]),
        ("<style>a<b</styles></STYLE >", [StartTag("style", {}, False), "a<b</styles>", EndTag("style")]),
        ("<script/>x", [StartTag("script", {}, True), "x"]),
        ("&#99999999999;&#x41;", ["\ufffdA"]),
        ("<1 < </", ["<", "1 ", "<", " ", "</"]),
    ],
)
def test_unusual_markup_has_the_tokens_that_browsers_see(markup: str, tokens: list[Token]) -> None:
    assert list(tokens_of(markup)) == tokens
