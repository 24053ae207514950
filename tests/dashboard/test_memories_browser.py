"""Memories, Memory and Recall in a browser: typing and keys; each act is checked in the database."""

import re

from playwright.sync_api import Page, expect

from tests.dashboard.browsing import Reports
from tests.dashboard.running import Dashboard
from tests.dashboard.waiting_things import fresh_owner


def test_memories_are_searched_opened_and_changed_with_keys(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    (memory_id,) = dashboard.run(own.retain("Ann lives in Hamburg.", tags=["home"])).memory_ids
    dashboard.run(own.retain("Bo bakes bread."))
    page.goto(f"/ui/memories?owner={own.owner}")
    rows = page.locator("a[data-row]")
    expect(rows).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("hamb")
    # A search for the first letters may come before.
    expect(page).to_have_url(re.compile("q=hamb(&|$)"))
    expect(rows).to_have_text(["Ann lives in Hamburg."])
    expect(page.locator("mark")).to_have_text("Hamburg")
    page.locator("body").click()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Ann lives in Hamburg.")

    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Text").fill("Ann lives in Berlin.")
    page.get_by_role("button", name="Save as version 2").click()
    expect(page.locator(".notice")).to_contain_text("Saved as version 2.")
    expect(page.locator("ins").first).to_have_text("Berlin")
    assert dashboard.run(own.memories.get(memory_id)).content == "Ann lives in Berlin."
    page.locator("h1").click()
    page.keyboard.press("u")
    expect(page.locator("h1")).to_have_text("Ann lives in Hamburg.")
    assert dashboard.run(own.memories.get(memory_id)).content == "Ann lives in Hamburg."

    page.locator("h1").click()
    page.keyboard.press("d")
    page.get_by_role("button", name="Forget it").click()
    expect(page.locator(".alert")).to_contain_text("Forgotten")
    assert dashboard.run(own.memories.get(memory_id)).deleted_at is not None
    page.locator("h1").click()
    page.keyboard.press("a")
    expect(page.locator(".notice")).to_contain_text("Restored")
    assert dashboard.run(own.memories.get(memory_id)).deleted_at is None


def test_a_form_that_is_refused_keeps_what_was_written(
    page: Page, dashboard: Dashboard, reports: Reports
) -> None:
    reports.allow("status of 422")
    own = fresh_owner(dashboard)
    (memory_id,) = dashboard.run(own.retain("Ann lives in Hamburg.")).memory_ids
    page.goto(f"/ui/memories/{memory_id}?owner={own.owner}")
    page.get_by_text("Edit", exact=True).click()
    for length in (9000, 8500):
        page.get_by_label("Text").fill("x" * length)
        page.get_by_role("button", name="Save as version 2").click()
        expect(page.locator("form .alert")).to_contain_text("8,192")
        expect(page.get_by_label("Text")).to_have_value("x" * length)
    page.get_by_label("Text").fill("Ann lives in Berlin.")
    page.get_by_role("button", name="Save as version 2").click()
    expect(page.locator(".notice")).to_contain_text("Saved as version 2.")
    assert dashboard.run(own.memories.get(memory_id)).content == "Ann lives in Berlin."


def test_questions_are_answered_while_somebody_types(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    dashboard.run(own.retain(["Ann plays the cello.", "Bo bakes bread."]))
    page.goto(f"/ui/recall?owner={own.owner}")
    page.get_by_label("Question").press_sequentially("Who plays the cello?")
    # The answer to the first words may come before that to all of them.
    expect(page).to_have_url(re.compile(r"q=Who\+plays\+the\+cello%3F(&|$)"))
    first = page.locator("a[data-row]").first
    expect(first).to_have_text("Ann plays the cello.")
    page.get_by_text("Why here?").first.click()
    expect(page.locator(".waterfall").first).to_be_visible()
    page.get_by_label("Question").fill("zyx quux")
    page.get_by_label("Refuse below, 0 to 1").fill("0.95")
    expect(page).to_have_url(re.compile(r"refuse_below=0\.95(&|$)"))
    expect(page.get_by_text("Refused.")).to_be_visible()
    page.get_by_text("Show what it would have answered").click()
    expect(first).to_be_visible()
    expect(page).to_have_url(re.compile("refuse_below=0(&|$)"))
    assert [each.retrieval_count for each in dashboard.run(own.memories.list())] == [0, 0]
