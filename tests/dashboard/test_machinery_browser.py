"""The pages Owners, Jobs and Events in a browser: every action is seen and then checked in the database."""

import json
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.running import Dashboard


@pytest.fixture(scope="module")
def dashboard(own_dashboard: Dashboard) -> Dashboard:
    """Of this module alone: its tests replay all dead jobs."""
    return own_dashboard


def test_an_owner_is_found_exported_archived_and_erased(
    page: Page, dashboard: Dashboard, tmp_path: Path
) -> None:
    run, memory = dashboard.run, dashboard.memory
    owner = f"zed {uuid4().hex[:6]}"
    run(memory.retain(["One", "Two"], owner=owner))
    page.goto("/ui/owners")
    page.keyboard.press("/")
    page.keyboard.type("zed")
    rows = page.locator("#owners tbody tr")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text(owner)
    with page.expect_download() as waiting:
        rows.first.get_by_role("link", name="Export").click()
    waiting.value.save_as(tmp_path / "export.jsonl")
    head, *lines = [json.loads(line) for line in (tmp_path / "export.jsonl").read_text("utf-8").splitlines()]
    assert head["owner"] == owner
    assert sum(line["table"] == "state.memories" for line in lines) == 2
    rows.first.get_by_role("link", name="Erase").click()
    page.get_by_label(f"Type {owner}").fill(owner)
    page.get_by_role("button", name="Go ahead").click()
    expect(page.locator(".notice")).to_contain_text(f"Archived {owner}")
    assert run(memory.memories.list(owner=owner)) == []
    assert len(run(memory.memories.list(owner=owner, statuses=None))) == 2
    page.goto(f"/ui/owners?erase={owner}")
    page.get_by_label("Erase for good").check()
    page.get_by_label(f"Type {owner}").fill(owner)
    page.get_by_role("button", name="Go ahead").click()
    expect(page.locator(".notice")).to_contain_text(f"Erased {owner}")
    shown = page.locator("[data-receipt]").inner_text()
    outcome, _ = run(memory.audit.list(action="erase_owner", limit=2))
    assert outcome.target == shown
    assert outcome.detail["rows"] == run(memory.admin.receipt(shown)).rows
    assert run(memory.admin.owner_counts(prefix=owner)) == []


def test_jobs_are_replayed_cancelled_and_schedules_paused(page: Page, dashboard: Dashboard) -> None:
    run, memory = dashboard.run, dashboard.memory
    dead = run(memory.jobs.dead())
    page.goto("/ui/jobs?state=dead")
    page.locator(".trace summary").first.click()
    expect(page.get_by_role("region", name="Traceback").first).to_contain_text("Traceback")
    page.get_by_role("button", name=f"Replay {dead[0].type}").first.click()
    expect(page.locator(".notice")).to_contain_text("waits again")
    assert run(memory.jobs.status(dead[0].job_id)).state == "waiting"
    page.get_by_role("button", name="Replay all").click()
    expect(page.locator(".notice")).to_contain_text("jobs wait again")
    assert run(memory.jobs.dead()) == []
    page.goto("/ui/jobs?state=waiting")
    page.get_by_role("button", name=f"Cancel {dead[0].type}").first.click()
    expect(page.locator(".notice")).to_contain_text("is cancelled")
    assert len(run(memory.jobs.list(state="waiting"))) == len(dead) - 1
    page.get_by_role("button", name="Pause cleanup").click()
    expect(page.locator(".notice")).to_contain_text("Paused cleanup")
    assert not run(memory.schedules.get("cleanup")).enabled
    page.get_by_role("button", name="Resume cleanup").click()
    expect(page.locator(".notice")).to_contain_text("Resumed cleanup")
    assert run(memory.schedules.get("cleanup")).enabled
    # The list is asked for again every five seconds.
    page.goto("/ui/jobs")
    run(memory.jobs.enqueue("fresh.type", run_at="2099-01-01T00:00:00Z"))
    expect(page.get_by_role("link", name="fresh.type", exact=True)).to_be_visible(timeout=20_000)


def test_events_come_by_themselves_until_they_are_paused(page: Page, dashboard: Dashboard) -> None:
    run, memory = dashboard.run, dashboard.memory
    page.goto("/ui/events?type=state")
    expect(page.locator("[data-live-state].on")).to_be_visible()
    key = f"<img src=x> {uuid4().hex[:6]}"
    run(memory.state.set(key, 1, owner=dashboard.owner))
    expect(page.locator("#events li").first).to_contain_text(key)
    assert page.locator("#events img").count() == 0
    page.get_by_role("button", name="Pause").click()
    run(memory.state.set(f"paused {key}", 1, owner=dashboard.owner))
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#events li").first).to_contain_text(f"paused {key}")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    run(memory.state.set(f"resumed {key}", 1, owner=dashboard.owner))
    expect(page.locator("#events li").first).to_contain_text(f"resumed {key}")
    page.get_by_label("Type").select_option("state.deleted")
    expect(page.locator("[data-live-state].on")).to_be_visible()
    run(memory.state.delete(key, owner=dashboard.owner))
    expect(page.locator("#events li").first).to_contain_text("state.deleted")
    expect(page.locator("#events li").first).to_contain_text(key)
