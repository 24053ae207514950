"""In a browser: signing in and out, the pages Keys and Audit, and a key that ends while a page is open."""

import re

from playwright.sync_api import Page, expect

from tests.dashboard.browsing import Reports
from tests.dashboard.conftest import OpenContext
from tests.dashboard.running import Dashboard


def test_keys_are_created_shown_once_and_revoked(
    empty_dashboard: Dashboard, open_context: OpenContext
) -> None:
    page = open_context(empty_dashboard).new_page()
    page.goto("/ui/keys")
    create_a_key(page)
    shown = page.locator("[data-secret]").inner_text()
    assert re.fullmatch(r"mn_[\w-]{43}", shown)
    (made,) = [
        key for key in empty_dashboard.run(empty_dashboard.memory.keys.list()) if key.name == "A program"
    ]
    assert (made.role, made.owner) == ("write", "alice")
    page.reload()
    assert shown not in page.content()
    row = page.locator("tr", has_text="A program")
    row.locator("summary").click()
    row.get_by_role("button", name="Revoke this key").click()
    expect(page.locator(".notice")).to_contain_text("Revoked A program")
    assert empty_dashboard.run(empty_dashboard.memory.keys.get(made.key_id)).revoked_at is not None
    page.get_by_role("link", name="Audit").click()
    expect(page.locator("tbody tr").first).to_contain_text("revoke key")
    page.get_by_label("Outcome").select_option("failed")
    expect(page.get_by_text("No acts match")).to_be_visible()
    expect(page).to_have_url(re.compile("outcome=failed"))


def create_a_key(page: Page) -> None:
    page.locator("summary", has_text="New key").click()
    page.get_by_label("Name", exact=True).fill("A program")
    page.get_by_label("Role").select_option("write")
    page.get_by_label("Only for the owner").fill("alice")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("[data-secret]")).to_be_visible()


def test_a_browser_signs_in_and_out_and_leaves_when_its_key_ends(
    empty_dashboard: Dashboard, open_context: OpenContext, reports: Reports
) -> None:
    reports.allow("401")
    page = open_context(empty_dashboard, role=None).new_page()
    page.goto("/ui/keys")
    expect(page).to_have_url(re.compile("/ui/sign-in$"))
    sign_in(page, "mn_" + "x" * 43)
    expect(page.get_by_role("alert")).to_contain_text("unknown")
    sign_in(page, empty_dashboard.key("admin"))
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/ui/sign-in$"))
    sign_in(page, empty_dashboard.key("admin"))
    newest = empty_dashboard.run(empty_dashboard.memory.keys.list())[0]
    empty_dashboard.run(empty_dashboard.memory.keys.revoke(newest.key_id))
    page.get_by_role("link", name="Keys", exact=True).click()
    expect(page).to_have_url(re.compile("/ui/sign-in$"))


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
