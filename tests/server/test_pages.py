"""`/` and `/docs`: open to everybody, complete, and without anything from elsewhere."""

import re
from base64 import b64encode
from hashlib import sha256

import httpx
import pytest

from mnemic import __version__
from mnemic.sdk.http.surface import SURFACE
from mnemic.server.docs_page import render_docs
from mnemic.server.pages import prefers_html

BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
PAGES = ("/", "/docs")


@pytest.fixture
def docs(stranger: httpx.Client) -> str:
    answer = stranger.get("/docs", headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    return answer.text


def test_every_route_of_the_table_is_on_the_page(docs: str) -> None:
    missing = [
        route.call
        for route in SURFACE
        if f"<span class='method'>{route.method}</span> {route.path}</a>" not in docs
        or f"{route.method} {route.path}</a></li>" not in docs
    ]
    assert missing == []


def test_a_route_has_what_it_takes_to_call_it(docs: str) -> None:
    (article,) = re.findall(r"<article id='recall'>.*?</article>", docs, re.DOTALL)
    for part in (
        "Return the memories",
        "role <code>read</code>",
        "<code>nulls</code>",
        "<code>query</code></td><td>body</td><td>string</td><td>required.",
        "curl -X POST &quot;$MNEMIC_SERVER/v1/recall&quot;",
        "Authorization: Bearer $MNEMIC_API_KEY",
        "<a href='#schema-Recalled'>Recalled</a>",
    ):
        assert part in article


def test_every_link_leads_somewhere(docs: str, stranger: httpx.Client) -> None:
    anchors = re.findall(r"\bid='([^']+)'", docs)
    assert len(anchors) == len(set(anchors))
    links = set(re.findall(r"\bhref='([^']+)'", docs))
    assert {link for link in links if link.startswith("#")} <= {f"#{anchor}" for anchor in anchors}
    others = {link for link in links if not link.startswith("#")}
    assert others == {"/openapi.json"}
    assert stranger.get("/openapi.json").status_code == 200


@pytest.mark.parametrize("path", PAGES)
def test_nothing_comes_from_elsewhere(path: str, stranger: httpx.Client) -> None:
    page = stranger.get(path, headers=BROWSER)
    # The example of a webhook names one, as text.
    assert set(re.findall(r"\w+://[\w.]+", page.text)) <= {"https://example.com"}
    assert (
        re.findall(
            r"<(?:script|link|img|iframe|object|form)\b|\b(?:src|on\w+|style)=|@import|url\(", page.text
        )
        == []
    )
    (style,) = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    style_hash = b64encode(sha256(style.encode()).digest()).decode()
    assert page.headers["content-security-policy"] == (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    assert page.headers["x-content-type-options"] == "nosniff"


def test_what_the_document_says_is_escaped() -> None:
    operation = {
        "tags": ["<b>"],
        "summary": "<script>",
        "description": "`<i>`",
        "operationId": "'><i>",
        "parameters": [
            {"name": "<u>", "in": "query", "required": True, "schema": {"enum": ["<s>"]}, "example": "<q>"}
        ],
        "responses": {"200": {}},
    }
    document = {
        "info": {"title": "<t>", "version": "<v>", "description": "<d>"},
        "paths": {"/<p>": {"get": operation}},
        "components": {"schemas": {"<S>": {"description": "<D>", "properties": {"<f>": {"type": "<y>"}}}}},
    }
    page = render_docs(document)
    assert re.findall(r"<(?:b|i|u|s|q|t|v|d|p|S|D|f|y|script)>(?!\w*</p>)", page.replace("<p>", "")) == []


def test_the_root_says_what_this_is(stranger: httpx.Client) -> None:
    answer = stranger.get("/")
    assert (answer.status_code, answer.headers["vary"]) == (200, "Accept")
    assert answer.json() == {
        "name": "Mnemic",
        "version": __version__,
        "about": "The memory of AI agents over HTTP.",
        "docs": "/docs",
        "openapi": "/openapi.json",
        "health": "/healthz",
        "ready": "/readyz",
    }


def test_the_root_is_a_page_in_a_browser(stranger: httpx.Client) -> None:
    answer = stranger.get("/", headers=BROWSER)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    for link in re.findall(r"href='([^']+)'", answer.text):
        assert stranger.get(link).status_code == 200, link
    assert f"Mnemic {__version__}" in answer.text


def test_html_is_for_those_who_name_it_first() -> None:
    assert prefers_html(BROWSER["Accept"])
    assert prefers_html("text/html")
    assert not prefers_html("*/*")
    assert not prefers_html("")
    assert not prefers_html("application/json, text/html;q=0.5")
