"""The frame around all pages: sign-in, navigation, theme."""

from playwright.sync_api import Page, expect

from mnemic.dashboard.page_list import PAGES


def test_the_navigation_lists_every_page_and_marks_the_open_one(page: Page) -> None:
    page.goto("/ui")
    expect(page.locator(".nav a")).to_have_text([each.title for each in PAGES])
    expect(page.locator(".nav a[aria-current=page]")).to_have_text(PAGES[0].title)
