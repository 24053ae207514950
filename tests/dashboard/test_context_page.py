"""The page Context: sessions, the levels of their objects over requests, pins, restores and closing."""

import re

import pytest
from playwright.sync_api import Page, expect

from mnemic.types.context import ContextSession
from tests.dashboard.running import Dashboard

MARKED = "<i data-injected>x</i>"
SESSION = f"fix the build {MARKED}"
PAGE_MAX_BYTES = 60_000


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


@pytest.fixture(scope="module")
def paged(dashboard: Dashboard) -> ContextSession:
    """A session of an owner of its own: a file in full, large output that was shortened, a fault."""
    context = dashboard.memory.scope(owner="pager").context(SESSION)

    async def fill() -> ContextSession:
        await context.admit(
            "def main():\n    return 1\n" * 60, key=f"src/{MARKED}.py", tool="Read", type="file"
        )
        output = "\n".join(f"{number}: built target_{number} {MARKED}" for number in range(3_000))
        await context.admit(output, key="make all", tool="Bash", type="command")
        await context.query("target_1234", object="make all")
        return await context.summary()

    made: ContextSession = dashboard.run(fill())
    return made


def test_sessions_are_listed_by_state(dashboard: Dashboard, paged: ContextSession) -> None:
    with dashboard.client("read") as client:
        for state, is_listed in (("", True), ("open", True), ("closed", False)):
            html = client.get("/ui/context", params={"owner": "pager", "state": state}).text
            assert ("fix the build" in html) is is_listed
            assert MARKED not in html
        assert client.get("/ui/context", params={"owner": "pager", "state": "x"}).status_code == 422
        empty = client.get("/ui/context", params={"owner": "nobody"})
        assert "mnemic proxy" in text_of(empty.text)


def test_a_session_shows_its_window_objects_and_decisions(
    dashboard: Dashboard, paged: ContextSession
) -> None:
    with dashboard.client("read") as client:
        answer = client.get("/ui/context/session", params={"owner": "pager", "session": SESSION})
        assert answer.status_code == 200
        assert len(answer.content) < PAGE_MAX_BYTES
        shown = text_of(answer.text)
        for expected in ("make all", "Tokens of each request, by level", "Fault: micro", "target_1234"):
            assert expected in shown
        assert MARKED not in answer.text
        assert "context/pin" not in answer.text, "a key that only reads sees no buttons"
        assert client.get("/ui/context/session", params={"owner": "pager"}).status_code == 422
        missing = client.get("/ui/context/session", params={"owner": "pager", "session": "other"})
        assert missing.status_code == 404


def test_objects_are_pinned_and_restored_and_the_session_closed(
    dashboard: Dashboard, paged: ContextSession
) -> None:
    context = dashboard.memory.scope(owner="pager").context(SESSION)
    with dashboard.client("write") as client:

        def post(path: str, **fields: str) -> str:
            answer = client.post(
                f"/ui/context/{path}", params={"owner": "pager"}, data={"session": SESSION, **fields}
            )
            assert answer.status_code == 303, answer.text
            return client.get(answer.headers["location"]).text

        assert "Pinned" in post("pin", key="make all")
        assert dashboard.run(context.get("make all")).object.is_pinned
        assert "Unpinned" in post("pin", key="make all", act="unpin")
        assert not dashboard.run(context.get("make all")).object.is_pinned
        assert "Restored 1 in full" in post("restore", key="make all")
        assert [each.fault for each in dashboard.run(context.history(kinds=["fault"]))].count("restore") == 1
        assert "Closed" in post("close")
        assert dashboard.run(context.summary()).closed_at is not None


def test_the_stream_of_a_session_is_not_woken_by_others(dashboard: Dashboard) -> None:
    own = dashboard.memory.scope(owner="followed")
    fields = {"owner": "followed", "type": "context", "only": "yes", "subject": "wanted", "after": "now"}
    with (
        dashboard.client("read") as client,
        client.stream("GET", "/ui/events/stream", params=fields) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines) == ": heartbeat"
        for session in ("other", "wanted"):
            dashboard.run(own.context(session).admit("text", key="a", tool="Read", type="file"))
        dashboard.run(own.retain("A memory."))
        first = next(line for line in lines if line.startswith("data: "))
    assert "context.created" in first
    assert "wanted" in first


def test_a_session_in_a_browser(page: Page, dashboard: Dashboard) -> None:
    """Every action is seen and then checked in the database; what happens meanwhile appears by itself."""
    context = dashboard.memory.scope(owner="pager").context("in a browser")
    run = dashboard.run
    run(context.admit("Nothing to see.\n" * 2_000, key="make all", tool="Bash", type="command"))
    page.goto("/ui/context?owner=pager")
    page.get_by_role("link", name="in a browser").click()
    said = page.locator(".notice")
    page.get_by_role("button", name="Pin make all").click()
    expect(said).to_contain_text("Pinned")
    assert run(context.get("make all")).object.is_pinned
    page.get_by_role("button", name="Unpin make all").click()
    expect(said).to_contain_text("Unpinned")
    assert not run(context.get("make all")).object.is_pinned
    page.get_by_role("button", name="Restore make all").click()
    expect(said).to_contain_text("Restored 1 in full")
    assert [each.fault for each in run(context.history(kinds=["fault"]))] == ["restore"]
    page.locator("h1").click()
    expect(page.locator("[data-live-state].on")).to_be_visible()
    run(context.admit("def main(): ...", key="main.py", tool="Read", type="file"))
    expect(page.locator("#window")).to_contain_text("main.py")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#window[data-paused]")).to_be_visible()
    run(context.admit("def other(): ...", key="other.py", tool="Read", type="file"))
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#window")).to_contain_text("other.py")
    page.get_by_role("button", name="Close session").click()
    expect(said).to_contain_text("Closed.")
    assert run(context.summary()).closed_at is not None
    expect(page.get_by_role("button", name="Close session")).to_have_count(0)
