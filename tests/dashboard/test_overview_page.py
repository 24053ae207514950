"""The page Overview: counts, what wants attention, growth, newest events; keys of an owner see its own."""

import re
from pathlib import Path

import psycopg
from playwright.sync_api import Page, expect

from mnemic.db.access import DATABASE_NAME
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.types.key import Role
from tests.dashboard.running import Dashboard

INTERRUPTED = """
INSERT INTO traces.audit_log (tenant_id, audit_id, process, action, target, phase, at)
VALUES (%s, mnemic.new_id(), 'sdk', 'restore', 'x', 'intent', now() - interval '2 hours')
"""


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_it_shows_the_counts_of_the_tenant_and_what_wants_attention(dashboard: Dashboard) -> None:
    memory = dashboard.memory
    stats = dashboard.run(memory.admin.stats())
    dead = dashboard.run(memory.jobs.dead())
    with dashboard.client("read") as client:
        html = client.get("/ui/overview").text
        text = text_of(html)
        assert f"Memories {stats.memory_count} " in text
        assert f"Owners {len(dashboard.run(memory.admin.owners()))} " in text
        assert f"{len(dead)} jobs died" in text
        assert 'href="/ui/jobs?' in html
        assert "state=dead" in html
        assert len(html) < 60_000
        assert "All owners, counted" in text


def test_it_shows_what_waits_for_the_owner_and_its_newest_events(dashboard: Dashboard) -> None:
    memory = dashboard.memory.scope(owner=dashboard.owner)
    waiting = dashboard.run(memory.curation.waiting())
    events = dashboard.run(dashboard.memory.events.list(order="newest", limit=10))
    with dashboard.client() as client:
        html = client.get("/ui/overview", params={"owner": dashboard.owner}).text
        if waiting.staged_change_count:
            assert f"{waiting.staged_change_count} proposed change" in text_of(html)
        for event in events:
            assert event.subject in html


def test_new_events_appear_while_the_page_is_open(page: Page, dashboard: Dashboard) -> None:
    page.goto("/ui/overview")
    expect(page.locator("[data-live-state].on")).to_be_visible()
    memory = dashboard.memory.scope(owner=dashboard.owner)
    stored = dashboard.run(memory.retain("Mara bought a kayak."))
    newest = page.locator("#recent li").first.get_by_role("link")
    expect(newest).to_have_attribute("title", str(stored.memory_ids[0]))
    page.locator(".todo a", has_text="jobs died").click()
    expect(page).to_have_url(re.compile("/ui/jobs.*state=dead"))


def test_counting_now_counts_what_was_stored_since(dashboard: Dashboard) -> None:
    memory = dashboard.memory.scope(owner=dashboard.owner)
    with dashboard.client() as client:
        client.get("/ui/overview")
        dashboard.run(memory.retain("Mara sold her kayak."))
        before = dashboard.run(memory.metrics.snapshots())
        answer = client.post("/ui/overview")
        assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, "/ui/overview")
        page = client.get(answer.headers["location"])
        assert "Everything was counted again." in page.text
        count = dashboard.run(memory.admin.stats()).memory_count
        assert f"Memories {count} " in text_of(page.text)
    taken = {snapshot.name: snapshot.taken_at for snapshot in dashboard.run(memory.metrics.snapshots())}
    assert all(taken[snapshot.name] > snapshot.taken_at for snapshot in before)


def test_a_bound_key_sees_only_what_concerns_its_owner(dashboard: Dashboard) -> None:
    with dashboard.client("read", owner=dashboard.owner) as client:
        text = text_of(client.get("/ui/overview").text)
        assert f"What concerns {dashboard.owner}." in text
        for hidden in ("Owners", "jobs died", "Memories stored per day", "Count now"):
            assert hidden not in text
        refused = client.post("/ui/overview")
        assert (refused.status_code, refused.headers["content-type"][:9]) == (403, "text/html")


def test_a_concern_has_no_link_to_a_page_that_the_key_may_not_see(
    dashboard: Dashboard, dashboard_folder: Path
) -> None:
    with EmbeddedServer.start(dashboard_folder) as place:
        conninfo = place.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
        with psycopg.connect(conninfo, autocommit=True) as admin:
            admin.execute(INTERRUPTED, [dashboard.memory.tenant.id])
    roles: tuple[tuple[Role, int], ...] = (("read", 0), ("admin", 1))
    for role, links in roles:
        with dashboard.client(role) as client:
            html = client.get("/ui/overview").text
        assert "1 act was interrupted" in text_of(html)
        assert html.count("outcome=unfinished") == links


def test_an_empty_tenant_says_how_to_begin(empty_dashboard: Dashboard) -> None:
    with empty_dashboard.client() as client:
        text = text_of(client.get("/ui/overview").text)
    assert "Nothing is stored yet" in text
    assert "Nothing. All is well." in text
