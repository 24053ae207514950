"""A page in light, dark and on a phone."""

from playwright.sync_api import Page

from tests.dashboard import accessibility


def check_modes(page: Page) -> None:
    """Accessible in light, dark and on a phone, where nothing is wider than the screen."""
    assert accessibility.violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert accessibility.violations(page, accessibility.COLOURS) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 360, "height": 740})
    assert accessibility.violations(page, accessibility.LAYOUT) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.set_viewport_size({"width": 1360, "height": 880})
