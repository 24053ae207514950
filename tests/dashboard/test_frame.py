"""The frame around all pages: its navigation, and the keys / j k Enter, g and a letter, ? and Escape."""

import pytest
from playwright.sync_api import Page, expect

from mnemic.dashboard.page_list import PAGES
from tests.dashboard.addresses import explore
from tests.dashboard.running import Dashboard


@pytest.fixture(scope="module")
def dashboard(own_dashboard: Dashboard) -> Dashboard:
    """Of this module alone, so that each list begins with the rows of the story."""
    return own_dashboard


@pytest.fixture(scope="module")
def built(dashboard: Dashboard) -> list[str]:
    """The addresses of the navigation."""
    with dashboard.client() as client:
        views = {each.view: each.url for each in explore(client).found}
    return [views[f"/ui{page.views[0].path}"] for page in PAGES if f"/ui{page.views[0].path}" in views]


def test_the_navigation_lists_every_page_and_marks_the_open_one(page: Page) -> None:
    page.goto("/ui")
    expect(page.locator(".nav a")).to_contain_text([each.title for each in PAGES])
    expect(page.locator(".nav a[aria-current=page]")).to_contain_text(PAGES[0].title)


def test_every_letter_opens_its_page(page: Page, built: list[str], subtests: pytest.Subtests) -> None:
    letters = [each.key for each in PAGES if each.key]
    assert len(letters) == len(set(letters))
    page.goto("/ui")
    for each in PAGES:
        if not each.key or f"/ui{each.views[0].path}" not in {url.partition("?")[0] for url in built}:
            continue
        with subtests.test(each.name):
            page.keyboard.press("g")
            page.keyboard.press(each.key)
            expect(page.locator(".nav a[aria-current=page]")).to_contain_text(each.title)
            expect(page.locator("main h1")).to_be_visible()
            expect(page).to_have_title(f"{each.title} · Mnemic")


def test_question_mark_lists_the_keys_and_escape_closes_the_list(page: Page) -> None:
    page.goto("/ui")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_slash_searches_and_rows_are_walked(page: Page, built: list[str], subtests: pytest.Subtests) -> None:
    """On pages with a search field, / goes to it; on pages with rows, j and k walk and Enter opens."""
    for url in built:
        page.goto(url)
        with subtests.test(url):
            search, rows = page.locator("[data-search]"), page.locator("[data-row]")
            if search.count():
                page.keyboard.press("/")
                expect(search.first).to_be_focused()
                search.first.blur()
            if rows.count() > 1:
                page.keyboard.press("j")
                expect(rows.nth(0)).to_be_focused()
                page.keyboard.press("j")
                expect(rows.nth(1)).to_be_focused()
                page.keyboard.press("k")
                expect(rows.nth(0)).to_be_focused()
                _check_enter_opens(page)


def _check_enter_opens(page: Page) -> None:
    """Enter on a row that is a link opens it, and Back returns."""
    target = page.evaluate("document.activeElement.closest('a[href]')?.href ?? null")
    if target is None or target == page.url:
        return
    page.keyboard.press("Enter")
    page.wait_for_url(target)
    page.go_back()
