"""The pages Review and Cleanup in a browser: keys, the count in the navigation, ticking, undo by one key."""

import re
from uuid import uuid4

from playwright.sync_api import Page, expect

from tests.dashboard.running import Dashboard
from tests.dashboard.waiting_things import (
    contradiction,
    expired,
    fresh_owner,
    near_duplicates,
    proposals,
    quarantined,
    state,
)


def test_a_review_is_done_with_keys_and_the_count_follows(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    pairs = [near_duplicates(dashboard, own, name) for name in ("Ann", "Ben", "Cleo")]
    before = [state(dashboard, own, *pair) for pair in pairs]
    count = page.locator("[data-count='review']")
    page.goto(f"/ui/review?owner={own.owner}&tab=duplicates")
    expect(count).to_have_text("3")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.locator("[data-row]").nth(1)).to_be_focused()
    page.keyboard.press("a")
    expect(page.locator(".notice")).to_contain_text("Merged into the newer memory.")
    expect(count).to_have_text("2")
    assert [each[0] for each in state(dashboard, own, *pairs[1])] == ["merged", "active"]
    # The row that took its place has the focus: one key decides about it.
    expect(page.locator("[data-row]").nth(1)).to_be_focused()
    page.keyboard.press("d")
    expect(page.locator(".notice")).to_contain_text("Both memories stay.")
    expect(count).to_have_text("1")
    page.keyboard.press("u")
    expect(page.locator(".notice")).to_contain_text("The pair waits for a decision again.")
    expect(count).to_have_text("2")
    assert [state(dashboard, own, *pair) for pair in (pairs[0], pairs[2])] == [before[0], before[2]]


def test_the_navigation_follows_the_owner_who_is_shown(page: Page, dashboard: Dashboard) -> None:
    own = dashboard.memory.scope(owner=f"aaa {uuid4()}")  # Among the first, so that the menu lists it.
    near_duplicates(dashboard, own)
    count, link = page.locator("[data-count='review']"), page.locator(".nav a[data-page=review]")
    page.goto(f"/ui/review?owner={dashboard.owner}")
    page.locator("select#owner").select_option(own.owner)
    expect(link).to_have_attribute("href", re.compile("owner=aaa"))
    expect(count).to_have_text("1")
    link.click()
    page.get_by_role("link", name="Near duplicates").click()
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page).to_have_url(re.compile("owner=aaa.*tab=duplicates"))


def test_contradictions_and_claims_are_decided_with_keys(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    pair = contradiction(dashboard, own)
    before = state(dashboard, own, *pair)
    said = page.locator(".notice")
    page.goto(f"/ui/review?owner={own.owner}&tab=contradictions")
    page.keyboard.press("a")
    expect(said).to_contain_text("The newer memory replaced the older one.")
    assert [each[0] for each in state(dashboard, own, *pair)] == ["superseded", "active"]
    page.keyboard.press("u")
    expect(said).to_contain_text("Undone")
    assert state(dashboard, own, *pair) == before
    page.keyboard.press("b")
    expect(said).to_contain_text("Both memories stay.")
    assert [each[0] for each in state(dashboard, own, *pair)] == ["active", "active"]

    known, claim = quarantined(dashboard, own)
    page.get_by_role("link", name="Quarantine").click()
    expect(page.get_by_text("New claim")).to_be_visible()
    page.keyboard.press("d")
    expect(said).to_contain_text("The memory is archived.")
    assert [each[0] for each in state(dashboard, own, known, claim)] == ["active", "archived"]


def test_one_proposal_is_rejected_by_a_key_and_waits_again(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    run = proposals(dashboard, own)

    def counts() -> dict[str, int]:
        found: dict[str, int] = dashboard.run(own.curation.get(run.changeset_id)).change_counts
        return found

    page.goto(f"/ui/review?owner={own.owner}")
    page.keyboard.press("d")
    expect(page.locator(".notice")).to_contain_text("Rejected. The run has 1 rejected, 2 staged.")
    assert counts() == {"rejected": 1, "staged": 2}
    page.keyboard.press("u")
    expect(page.locator(".notice")).to_contain_text("Undone: everything is as it was before.")
    assert counts() == {"staged": 3}


def test_changes_are_ticked_approved_applied_and_undone(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    run = proposals(dashboard, own)
    ids = [change.memory_id for change in run.changes]
    before = state(dashboard, own, *ids)
    page.goto(f"/ui/review?owner={own.owner}")
    page.locator("[data-check-all=change]").check()
    page.locator("input[name=change]").last.uncheck()
    page.get_by_role("button", name="Approve ticked").click()
    page.get_by_role("button", name="Apply 2 approved").click()
    expect(page.locator(".notice")).to_contain_text("Applied. The run has 2 applied, 1 staged.")
    statuses = [each[0] for each in state(dashboard, own, *ids)]
    assert statuses == ["superseded", "superseded", "active"]
    page.keyboard.press("u")
    expect(page.locator(".notice")).to_contain_text("Undone: everything is as it was before.")
    assert state(dashboard, own, *ids) == before


def test_cleanup_is_tried_run_and_undone(page: Page, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    ids = expired(dashboard, own)
    before = state(dashboard, own, *ids)
    page.goto(f"/ui/cleanup?owner={own.owner}&kind=expired")
    page.locator("input[name=memory]").first.check()
    page.get_by_role("button", name="Try with those ticked").click()
    expect(page.locator("#dry-run")).to_have_text("Dry run: 1 memory would change")
    page.get_by_role("link", name="Back").click()
    page.get_by_role("button", name="Try with all").click()
    expect(page.locator("#dry-run")).to_have_text("Dry run: 3 memories would change")
    assert state(dashboard, own, *ids) == before
    page.keyboard.press("a")
    expect(page.locator(".notice")).to_contain_text("Archived 3 memories.")
    assert {each[0] for each in state(dashboard, own, *ids)} == {"archived"}
    page.keyboard.press("u")
    expect(page.locator(".notice")).to_contain_text("Undone: everything is as it was before.")
    assert state(dashboard, own, *ids) == before
