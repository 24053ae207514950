"""Texts that try to run a script: on every page, part of a page, error and event, none does."""

import re
from pathlib import Path
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from mnemic.dashboard.visit import FRAGMENT_HEADER, MAIN
from tests.dashboard import hostile
from tests.dashboard.addresses import Map, explore
from tests.dashboard.conftest import OpenContext
from tests.dashboard.running import Dashboard
from tests.server.running import RunningServer

# A script that a payload starts says so here, and the test sees it.
LISTEN = "globalThis.injected = () => { globalThis.wasInjected = true; };"
LEFT_BEHIND = f"""() => ({{
  ran: globalThis.wasInjected === true,
  elements: document.querySelectorAll("[{hostile.MARKED}]").length,
  links: ["href", "action", "formaction", "src"].flatMap(name =>
    [...document.querySelectorAll(`[${{name}}]`)].map(each => each.getAttribute(name))
  ).filter(address => /^\\s*(javascript|data):/i.test(address)),
}})"""
CLEAN = {"ran": False, "elements": 0, "links": []}
# The payload of a place, as a browser shows it, and what a template would make of it.
SHOWN = re.compile(r"x-[a-z ]+(?=&#39;|'|\\u0027)")
# So that every memory of the place is visited.
VISITED_PER_SHAPE = 30
MUST_BE_SHOWN = {f"x-{kind}" for kind in hostile.KINDS}
UNESCAPED = (f"<i {hostile.MARKED}", "<script>injected", "<img src=x", "<svg/onload")


@pytest.fixture(scope="module")
def attacked(served: RunningServer, dashboard_folder: Path) -> Dashboard:
    """The dashboard of a tenant in which every text is an attack."""
    tenant = f"hostile {uuid4()}"
    hostile.fill(dashboard_folder, tenant)
    return Dashboard(served, tenant, hostile.OWNER)


@pytest.fixture(scope="module")
def explored(attacked: Dashboard) -> Map:
    with attacked.client() as client:
        return explore(client, per_shape=VISITED_PER_SHAPE)


def test_every_text_is_escaped_on_every_page_and_in_every_part(
    attacked: Dashboard, explored: Map, subtests: pytest.Subtests
) -> None:
    shown: set[str] = set()
    with attacked.client() as client:
        for each in explored.found:
            parts = {
                part: client.get(each.url, headers={FRAGMENT_HEADER: part}).text
                for part in (MAIN, *each.fragments)
            }
            for part, html in {"page": each.html, **parts}.items():
                shown.update(SHOWN.findall(html))
                with subtests.test(each.url, part=part):
                    assert [attack for attack in UNESCAPED if attack in html] == []
                    assert "49&lt;svg" not in html, "a template ran in stored text"
    # If a page does not show what is stored, this test proves nothing about it.
    assert " ".join(sorted(MUST_BE_SHOWN - shown)) == ""


def test_no_page_runs_a_script_that_was_stored(
    attacked: Dashboard, explored: Map, open_context: OpenContext, subtests: pytest.Subtests
) -> None:
    context = open_context(attacked)
    context.add_init_script(LISTEN)
    page = context.new_page()
    for each in explored.one_for_each_view():
        page.goto(each.url)
        _move_about(page)
        with subtests.test(each.url):
            assert page.evaluate(LEFT_BEHIND) == CLEAN


def _move_about(page: Page) -> None:
    """Let elements show what they show when they have the focus, and let the script replace the page."""
    for _ in range(3):
        page.keyboard.press("Tab")
    link = page.locator(".nav a[aria-current=page]")
    if link.count() == 1:
        with page.expect_response(lambda answer: answer.request.headers.get(FRAGMENT_HEADER) == MAIN):
            link.click()


def test_fields_of_urls_are_escaped(attacked: Dashboard, explored: Map, subtests: pytest.Subtests) -> None:
    """Put an attack into every field of every address: it comes back escaped, or as a page with an error."""
    names = {each.view: set[str]() for each in explored.found}
    for each in explored.found:
        for form in each.forms:
            names.setdefault(urlsplit(form.action).path, set()).update(name for name, _ in form.fields)
        query = urlsplit(each.url).query
        names[each.view].update(field.partition("=")[0] for field in query.split("&") if field)
    with attacked.client() as client:
        for each in explored.one_for_each_view():
            for name in sorted(names[each.view]):
                url = f"{urlsplit(each.url).path}?{urlencode({name: hostile.hostile('field')})}"
                with subtests.test(each.view, field=name):
                    answer = client.get(url)
                    assert answer.status_code < 500, answer.text
                    assert answer.headers["content-type"].startswith("text/html")
                    assert [attack for attack in UNESCAPED if attack in answer.text] == []


def test_paths_that_do_not_exist_are_escaped(attacked: Dashboard, explored: Map) -> None:
    with attacked.client() as client:
        for path in ("/ui/", "/ui/memories/", "/ui/sign-in/", "/ui/static/"):
            answer = client.get(path + "%3Ci%20data-injected%3E%3Cscript%3Einjected()%3C%2Fscript%3E")
            assert answer.status_code in (400, 404, 422), path
            assert [attack for attack in UNESCAPED if attack in answer.text] == []


def test_events_run_no_script_when_they_arrive(attacked: Dashboard, open_context: OpenContext) -> None:
    context = open_context(attacked)
    context.add_init_script(LISTEN)
    page = context.new_page()
    page.goto(f"/ui/events?{urlencode({'owner': hostile.OWNER})}")
    expect(page.locator("[data-live-state].on")).to_be_visible()
    owner = attacked.memory.scope(owner=hostile.OWNER)
    attacked.run(owner.entities.upsert(hostile.short("live"), hostile.hostile("live")))
    expect(page.locator("[data-live]")).to_contain_text("x-live")
    assert page.evaluate(LEFT_BEHIND) == CLEAN
