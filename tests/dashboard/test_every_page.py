"""What holds on every page: it is accessible, fits on a phone, and can be used without JavaScript.

Pages are found by following links, so new ones are covered without being listed.
"""

import os
import re
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.dashboard import accessibility
from tests.dashboard.addresses import Found, Map, explore
from tests.dashboard.browsing import Reports
from tests.dashboard.conftest import OpenContext
from tests.dashboard.running import Dashboard

PHONE: ViewportSize = {"width": 360, "height": 740}
DESK: ViewportSize = {"width": 1360, "height": 880}
# Where the slow target keeps pictures of all pages.
PICTURES = Path("build") / "screenshots"
# The page is as wide as the screen, or what makes it wider scrolls by itself.
WIDER = """() => {
  const wide = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= wide) return [];
  const isWider = each => each.getBoundingClientRect().right > wide + 1;
  const found = [...document.querySelectorAll("body *")].filter(isWider);
  return found.slice(0, 5).map(each => each.outerHTML.slice(0, 120));
}"""


@pytest.fixture(scope="module")
def dashboard(own_dashboard: Dashboard) -> Dashboard:
    """Of this module alone: its tests send every form of every page."""
    return own_dashboard


@pytest.fixture(scope="module")
def explored(dashboard: Dashboard) -> Map:
    with dashboard.client() as client:
        return explore(client)


def test_the_place_has_a_thing_of_every_kind(dashboard: Dashboard) -> None:
    """So that the pages of the other tests are not empty."""
    memory = dashboard.memory.scope(owner=dashboard.owner)
    kinds = {
        "staged changes": memory.curation.list(state="staged"),
        "applied changes": memory.curation.list(state="applied"),
        "near duplicates": memory.memories.near_duplicates(),
        "outdated memories": memory.memories.outdated(),
        "statements": memory.statements.list(),
        "superseded memories": memory.memories.list(statuses=["superseded"]),
        "entities": memory.entities.list(),
        "goals": memory.goals.list(),
        "grants": memory.shares.list(),
        "dead jobs": dashboard.memory.jobs.dead(),
        "jobs that wait": dashboard.memory.jobs.list(state="scheduled"),
        "documents": dashboard.memory.documents.list(owner="river-study"),
        "revoked keys": dashboard.memory.keys.list(include_ended=True),
    }
    assert [kind for kind, listed in kinds.items() if not dashboard.run(listed)] == []


def test_links_lead_to_every_view_and_nowhere_else(explored: Map) -> None:
    assert explored.broken == []
    assert explored.unreached == set()


def test_every_page_is_accessible_in_light_dark_and_on_a_phone(
    dashboard: Dashboard, explored: Map, open_context: OpenContext, subtests: pytest.Subtests
) -> None:
    context = open_context(dashboard, viewport=DESK)
    accessibility.prepare(context)
    page = context.new_page()
    for each in explored.one_for_each_view():
        page.goto(each.url)
        with subtests.test(each.view, mode="light"):
            assert accessibility.violations(page) == []
        page.emulate_media(color_scheme="dark")
        with subtests.test(each.view, mode="dark"):
            assert accessibility.violations(page, accessibility.COLOURS) == []
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(PHONE)
        with subtests.test(each.view, mode="phone"):
            assert accessibility.violations(page, accessibility.LAYOUT) == []
            assert page.evaluate(WIDER) == []
        page.set_viewport_size(DESK)


def test_the_sign_in_page_and_error_pages_are_accessible(
    dashboard: Dashboard, open_context: OpenContext, reports: Reports, subtests: pytest.Subtests
) -> None:
    reports.allow("status of 404")
    signed_in, stranger = open_context(dashboard), open_context(dashboard, role=None)
    for context, address in ((stranger, "/ui/sign-in"), (signed_in, "/ui/no-such-page")):
        accessibility.prepare(context)
        page = context.new_page()
        page.goto(address)
        for size in (DESK, PHONE):
            page.set_viewport_size(size)
            with subtests.test(address, width=size["width"]):
                assert accessibility.violations(page) == []
                assert page.evaluate(WIDER) == []


def test_empty_pages_say_what_to_do(
    empty_dashboard: Dashboard, open_context: OpenContext, subtests: pytest.Subtests
) -> None:
    with empty_dashboard.client() as client:
        found = explore(client).one_for_each_view()
    context = open_context(empty_dashboard, viewport=PHONE)
    accessibility.prepare(context)
    page = context.new_page()
    for each in found:
        page.goto(each.url)
        with subtests.test(each.view):
            assert accessibility.violations(page) == []
            assert page.evaluate(WIDER) == []


def test_forms_work_without_javascript(
    dashboard: Dashboard, explored: Map, subtests: pytest.Subtests
) -> None:
    """Send every form as a browser without JavaScript does: a page comes, or one that says what is wrong."""
    forms = {form.shape: form for each in explored.found for form in each.forms}
    forms = {shape: form for shape, form in forms.items() if not form.action.endswith("/sign-out")}
    with dashboard.client() as client:
        for shape, form in forms.items():
            with subtests.test("form", shape=shape):
                answer = _send(client, form.method, form.action, form.fields)
                assert answer.status_code in (200, 303, 400, 404, 409, 422), answer.text
                if answer.status_code == 303:
                    answer = client.get(answer.headers["location"])
                    assert answer.status_code == 200
                assert answer.headers["content-type"].startswith("text/html")


def _send(client: httpx.Client, method: str, action: str, fields: list[tuple[str, str]]) -> httpx.Response:
    if method == "get":
        return client.get(f"{action.partition('?')[0]}?{urlencode(fields)}")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    return client.post(action, content=urlencode(fields), headers=form)


def test_pages_show_the_same_without_javascript(
    dashboard: Dashboard, explored: Map, open_context: OpenContext, subtests: pytest.Subtests
) -> None:
    page = open_context(dashboard, java_script_enabled=False, viewport=PHONE).new_page()
    first = explored.found[0]
    page.goto(first.url)
    page.get_by_label("Menu").click()
    page.locator(".nav a").nth(1).click()
    expect(page).not_to_have_url(re.compile(re.escape(first.url) + "$"))
    assert page.url.startswith(dashboard.url + "/ui/")
    for each in explored.one_for_each_view():
        with subtests.test(each.view):
            page.goto(each.url)
            assert page.locator("h1").count() == 1
            _check_no_button_needs_script(page, each)


def _check_no_button_needs_script(page: Page, each: Found) -> None:
    """Buttons outside of forms do nothing without script, so something else must do it or they are hidden."""
    allowed = "[data-open=keys-help], [data-theme-toggle], [data-pause], [data-zoom], [data-close]"
    loose = page.locator(f"main button:visible:not(form button):not([form]):not({allowed})")
    assert loose.count() == 0, f"{each.url}: {[loose.nth(at).inner_text() for at in range(loose.count())]}"


@pytest.mark.skipif("SLOW_TESTS" not in os.environ, reason="takes half a minute; make test-slow")
def test_pictures_of_every_page_are_kept(
    dashboard: Dashboard, explored: Map, open_context: OpenContext
) -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    page = open_context(dashboard, viewport=DESK).new_page()
    for each in explored.one_for_each_view():
        name = re.sub(r"[^a-z]+", "-", each.view.removeprefix("/ui/")).strip("-")
        page.goto(each.url)
        for mode, size in (("light", DESK), ("dark", DESK), ("phone", PHONE)):
            page.emulate_media(color_scheme="dark" if mode == "dark" else "light")
            page.set_viewport_size(size)
            picture = page.screenshot(path=PICTURES / f"{name}-{mode}.png", full_page=True)
            assert picture.startswith(b"\x89PNG"), each.url
