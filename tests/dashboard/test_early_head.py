"""The head of a page is sent before its content is read; what fails after that is shown all the same."""

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI
from playwright.sync_api import Page, expect
from starlette.requests import Request
from starlette.responses import Response

from mnemic.dashboard.app import error_page
from mnemic.dashboard.early_head import page_start, send_head_first
from mnemic.dashboard.views import overview
from mnemic.dashboard.visit import ROOT
from mnemic.errors import DatabaseUnavailableError, NotAuthenticatedError
from tests.dashboard.browsing import Reports
from tests.dashboard.running import Dashboard

OVERVIEW = "/ui/overview"
PLAIN = {"Accept-Encoding": "identity"}


@contextmanager
def locked(dashboard: Dashboard) -> Iterator[psycopg.Connection[Any]]:
    """The log of events, which every overview reads, locked until the end of the block."""
    place = dashboard.server.tenants._host.storage.server
    assert place is not None
    connection: psycopg.Connection[Any]
    with psycopg.connect(place.conninfo(user="mnemic", dbname="mnemic")) as connection:
        connection.execute("LOCK TABLE queue.events IN ACCESS EXCLUSIVE MODE")
        yield connection
        connection.rollback()


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_the_head_comes_while_the_content_is_read(dashboard: Dashboard, encoding: str) -> None:
    headers = {"Accept-Encoding": encoding}
    with dashboard.client() as client, locked(dashboard) as holder:
        with client.stream("GET", OVERVIEW, headers=headers) as answer:
            chunks = answer.iter_bytes()
            head = b""
            while len(head) < len(page_start()):
                head += next(chunks)
            assert head == page_start()
            assert b"app." in head
            holder.rollback()
            rest = b"".join(chunks)
        assert answer.headers.get("content-encoding", "identity") == encoding
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert b"Just now" in rest
        assert rest.endswith(b"</html>")


def test_a_failure_after_the_head_is_a_page_and_in_the_log(
    dashboard: Dashboard, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(visit: object) -> None:
        raise DatabaseUnavailableError("the disk is gone")

    monkeypatch.setattr(overview, "_waiting", fail)
    with dashboard.client() as client, caplog.at_level(logging.ERROR, "mnemic.server"):
        answer = client.get(OVERVIEW)
    assert answer.text.count("<!doctype html>") == answer.text.count("</html>") == 1
    assert "503 Service Unavailable" in answer.text
    assert "the disk is gone" not in answer.text
    assert "the disk is gone" in caplog.text
    assert "Sign out" in answer.text, "the page has its frame"


def test_a_redirect_after_the_head_leads_the_browser_there(
    page: Page, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ended(visit: object) -> None:
        raise NotAuthenticatedError("The session has ended.")

    monkeypatch.setattr(overview, "_waiting", ended)
    page.goto(OVERVIEW)
    expect(page).to_have_url(re.compile("/ui/sign-in$"))


def test_what_a_visitor_typed_and_may_do_still_decides_the_status(dashboard: Dashboard) -> None:
    with dashboard.client("read", dashboard.owner) as client:
        assert client.get("/ui/memories").status_code == 200
        assert client.get("/ui/memories", params={"status": "x"}).status_code == 422
        assert client.get("/ui/memories", params={"owner": "somebody else"}).status_code == 403
        assert client.get("/ui/keys").status_code == 403
        client.cookies.clear()
        assert client.get(OVERVIEW).status_code == 303
    with dashboard.client() as client:
        assert client.get("/ui/memories", params={"owner": "x" * 300}).status_code == 422
        assert client.head(OVERVIEW).status_code == 200


async def test_a_request_that_takes_too_long_still_ends_its_page() -> None:
    app = FastAPI()
    app.state.error_pages = {ROOT: error_page}
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def never() -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    scope = {"type": "http", "method": "GET", "path": OVERVIEW, "headers": [], "app": app, "state": {}}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await send_head_first(Request(scope), never, send)
    assert [message.get("status") for message in sent] == [200, None, None]
    assert b"504 Gateway Timeout" in sent[-1]["body"]
    assert not sent[-1]["more_body"]
