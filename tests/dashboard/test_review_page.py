"""The page Review over HTTP: every decision is shown, is in the database, and is taken back exactly."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.dashboard.running import Dashboard
from tests.dashboard.waiting_things import (
    contradiction,
    fresh_owner,
    near_duplicates,
    proposals,
    quarantined,
    send,
    state,
    text_of,
    undo,
)

TABS = ("runs", "contradictions", "duplicates", "quarantine", "history")


@pytest.fixture(scope="module")
def client(dashboard: Dashboard) -> Iterator[httpx.Client]:
    with dashboard.client() as opened_client:
        yield opened_client


def opened(client: httpx.Client, owner: str | None, **fields: Any) -> str:
    answer = client.get("/ui/review", params={"owner": owner, **fields})
    assert answer.status_code == 200, answer.text
    assert len(answer.content) < 60_000
    return answer.text


def test_empty_tabs_say_what_appears_there(
    client: httpx.Client, dashboard: Dashboard, subtests: pytest.Subtests
) -> None:
    for tab in TABS:
        with subtests.test(tab=tab):
            text = text_of(opened(client, f"nobody {uuid4()}", tab=tab))
            assert any(words in text for words in ("No proposals wait", "Nothing waits", "changed nothing"))


@pytest.mark.parametrize("decision", ["keep_new", "keep_old", "keep_both"])
def test_near_duplicates_are_merged_or_kept_and_undone(
    client: httpx.Client, dashboard: Dashboard, decision: str
) -> None:
    own = fresh_owner(dashboard)
    older, newer = near_duplicates(dashboard, own)
    before = state(dashboard, own, older, newer)
    page = opened(client, own.owner, tab="duplicates")
    assert "<ins>" in page
    assert '<span class="count num" data-count="review"' in page
    assert 'data-count-of="review">1</span>' in page
    fields = {
        "kind": "near_duplicate",
        "memory_id": str(newer),
        "other_id": str(older),
        "memory_version": "1",
        "other_version": "1",
        "decision": decision,
    }
    shown = send(client, "/ui/review", own.owner, {"form": "pair", **fields})
    assert "Nothing waits for a decision here" in text_of(shown)
    after = state(dashboard, own, older, newer)
    statuses = {
        "keep_new": ("merged", "active"),
        "keep_old": ("active", "merged"),
        "keep_both": ("active",) * 2,
    }
    assert (after[0][0], after[1][0]) == statuses[decision]
    shown = undo(client, shown)
    assert state(dashboard, own, older, newer) == before
    assert dashboard.run(own.curation.waiting()).near_duplicate_count == 1
    assert "Merge into the newer" in opened(client, own.owner, tab="duplicates")


@pytest.mark.parametrize("decision", ["keep_new", "keep_old", "keep_both"])
def test_contradictions_show_both_texts_and_are_decided_and_undone(
    client: httpx.Client, dashboard: Dashboard, decision: str
) -> None:
    own = fresh_owner(dashboard)
    older, newer = contradiction(dashboard, own)
    before = state(dashboard, own, older, newer)
    text = text_of(opened(client, own.owner, tab="contradictions"))
    for part in ("555-1234", "555-9876", "1 Jan 2026", "1 May 2026", "user provided", "Keep old"):
        assert part in text
    fields = {"kind": "contradiction", "memory_id": str(newer), "other_id": str(older), "decision": decision}
    shown = send(client, "/ui/review", own.owner, {"form": "pair", **fields})
    after = state(dashboard, own, older, newer)
    statuses = {
        "keep_new": ("superseded", "active"),
        "keep_old": ("active", "archived"),
        "keep_both": ("active",) * 2,
    }
    assert (after[0][0], after[1][0]) == statuses[decision]
    undo(client, shown)
    assert state(dashboard, own, older, newer) == before
    assert dashboard.run(own.curation.waiting()).contradiction_count == 1


@pytest.mark.parametrize("decision", ["keep_new", "keep_old", "keep_both"])
def test_claims_in_quarantine_are_decided_and_undone(
    client: httpx.Client, dashboard: Dashboard, decision: str
) -> None:
    own = fresh_owner(dashboard)
    known, claim = quarantined(dashboard, own)
    before = state(dashboard, own, known, claim)
    text = text_of(opened(client, own.owner, tab="quarantine"))
    assert "It contradicts an anchored memory." in text
    assert "anchored" in text
    fields = {"kind": "quarantine", "memory_id": str(claim), "other_id": str(known), "decision": decision}
    shown = send(client, "/ui/review", own.owner, {"form": "pair", **fields})
    after = state(dashboard, own, known, claim)
    statuses = {
        "keep_new": ("superseded", "active"),
        "keep_old": ("active", "archived"),
        "keep_both": ("active",) * 2,
    }
    assert (after[0][0], after[1][0]) == statuses[decision]
    undo(client, shown)
    assert state(dashboard, own, known, claim) == before
    assert dashboard.run(own.curation.waiting()).quarantined_count == 1


def test_a_run_is_approved_rejected_applied_and_undone(client: httpx.Client, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    run = proposals(dashboard, own)
    ids = [change.memory_id for change in run.changes]
    before = state(dashboard, own, *ids)
    page = text_of(opened(client, own.owner))
    for part in (
        "Berlin",
        "Lisbon",
        "A newer memory gives another value of the same attribute.",
        "evidence 1",
    ):
        assert part in page
    one, two, three = [str(change.change_id) for change in run.changes]
    common = {"run": str(run.changeset_id), "tab": "runs"}

    def counts() -> dict[str, int]:
        return dashboard.run(own.curation.get(run.changeset_id)).change_counts  # type: ignore[no-any-return]

    shown = send(client, "/ui/review", own.owner, {"form": "changes", **common, "only": f"reject {three}"})
    assert counts() == {"staged": 2, "rejected": 1}
    undo(client, shown)
    assert counts() == {"staged": 3}
    send(client, "/ui/review", own.owner, {"form": "changes", **common, "only": f"reject {three}"})
    send(
        client, "/ui/review", own.owner, {"form": "changes", **common, "act": "approve", "change": [one, two]}
    )
    assert counts() == {"approved": 2, "rejected": 1}
    assert state(dashboard, own, *ids) == before
    shown = send(client, "/ui/review", own.owner, {"form": "changes", **common, "act": "apply_all"})
    assert counts() == {"applied": 2, "rejected": 1}
    assert [each[0] for each in state(dashboard, own, *ids)] == ["superseded", "superseded", "active"]
    undo(client, shown)
    assert counts() == {"undone": 2, "rejected": 1}
    assert state(dashboard, own, *ids) == before
    history = text_of(opened(client, own.owner, tab="history"))
    assert "2 undone" in history


def test_all_changes_are_decided_at_once_and_one_undone_from_the_history(
    client: httpx.Client, dashboard: Dashboard
) -> None:
    own = fresh_owner(dashboard)
    run = proposals(dashboard, own)
    common = {"run": str(run.changeset_id)}
    send(client, "/ui/review", own.owner, {"form": "changes", **common, "act": "approve_all"})
    send(client, "/ui/review", own.owner, {"form": "changes", **common, "act": "apply_all"})
    fields = {**common, "tab": "history", "only": f"undo {run.changes[0].change_id}"}
    send(client, "/ui/review", own.owner, {"form": "changes", **fields})
    counts = dashboard.run(own.curation.get(run.changeset_id)).change_counts
    assert counts == {"applied": 2, "undone": 1}
    other = fresh_owner(dashboard)
    rejected = proposals(dashboard, other)
    fields = {"run": str(rejected.changeset_id), "act": "reject_all"}
    shown = send(client, "/ui/review", other.owner, {"form": "changes", **fields})
    assert "3 rejected" in text_of(shown)
    undo(client, shown)
    assert dashboard.run(other.curation.get(rejected.changeset_id)).change_counts == {"staged": 3}


def test_an_undo_takes_back_the_last_decision_only(client: httpx.Client, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    run = proposals(dashboard, own)
    one, two, _ = [str(change.change_id) for change in run.changes]
    common = {"form": "changes", "run": str(run.changeset_id)}
    send(client, "/ui/review", own.owner, {**common, "only": f"apply {one}"})
    undo(client, send(client, "/ui/review", own.owner, {**common, "only": f"apply {two}"}))
    assert dashboard.run(own.curation.get(run.changeset_id)).change_counts == {
        "applied": 1,
        "staged": 1,
        "undone": 1,
    }
    undo(client, send(client, "/ui/review", own.owner, {**common, "act": "reject_all"}))
    assert dashboard.run(own.curation.get(run.changeset_id)).change_counts == {
        "applied": 1,
        "staged": 1,
        "undone": 1,
    }


def test_pages_stay_small_with_many_long_memories(client: httpx.Client, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    for number in range(12):
        near_duplicates(dashboard, own, f"Person {number} {'of a long & wide name' * 40}")
    assert "before=" in opened(client, own.owner, tab="duplicates")
    proposals(dashboard, own, tuple(f"Person {number} {'long & wide ' * 30}" for number in range(25)))
    assert "after=" in opened(client, own.owner)


def test_the_curator_looks_for_changes_when_asked(client: httpx.Client, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    shown = send(client, "/ui/review", own.owner, {"form": "propose"})
    assert "There is nothing to propose." in text_of(shown)
    older, newer = dashboard.run(own.retain(["Ann lives in Oslo.", "Ann has moved to Rome."])).memory_ids
    dashboard.run(own.memories.decide_outdated(older, newer, "outdated"))
    shown = send(client, "/ui/review", own.owner, {"form": "propose"})
    assert "1 change waits for your decision" in text_of(shown)
    assert dashboard.run(own.curation.waiting()).staged_change_count == 1


def test_a_decision_that_came_too_late_is_explained(client: httpx.Client, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    older, newer = near_duplicates(dashboard, own)
    fields = {
        "kind": "near_duplicate",
        "memory_id": str(newer),
        "other_id": str(older),
        "memory_version": "1",
        "decision": "keep_new",
    }
    dashboard.run(own.memories.tag(newer, "mine"))
    late = client.post("/ui/review", params={"owner": own.owner}, data={"form": "pair", **fields})
    assert late.status_code == 409
    assert "was changed meanwhile: it has version 2, you saw version 1" in text_of(late.text)
    run = proposals(dashboard, own, ("Dora",))
    send(
        client,
        "/ui/review",
        own.owner,
        {"form": "changes", "run": str(run.changeset_id), "act": "approve_all"},
    )
    changed = run.changes[0].memory_id
    dashboard.run(own.memories.tag(changed, "mine"))
    before = state(dashboard, own, changed)
    late = client.post(
        "/ui/review",
        params={"owner": own.owner},
        data={"form": "changes", "run": str(run.changeset_id), "act": "apply_all"},
    )
    assert late.status_code == 409
    assert f"The memory {changed} was changed after the change was proposed (tags)." in text_of(late.text)
    assert state(dashboard, own, changed) == before


def test_a_reader_sees_everything_and_may_decide_nothing(dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    older, newer = near_duplicates(dashboard, own)
    run = proposals(dashboard, own)
    with dashboard.client("read") as reader:
        for tab in TABS:
            page = opened(reader, own.owner, tab=tab)
            main = page[page.index("<main") : page.index("</main>")]
            assert "<button" not in main, tab
        pair = {"kind": "near_duplicate", "memory_id": str(newer), "other_id": str(older)}
        for name, fields in (
            ("pair", {**pair, "decision": "keep_new"}),
            ("changes", {"run": str(run.changeset_id), "act": "approve_all"}),
            ("undo", pair),
            ("propose", {"tab": "runs"}),
        ):
            answer = reader.post("/ui/review", params={"owner": own.owner}, data={"form": name, **fields})
            assert answer.status_code == 403, name
            assert "You may not do this" in answer.text
    assert dashboard.run(own.curation.waiting()).total_count == 4


def test_a_bound_key_decides_for_its_owner_only(dashboard: Dashboard) -> None:
    own, other = fresh_owner(dashboard), fresh_owner(dashboard)
    older, newer = near_duplicates(dashboard, own)
    theirs = proposals(dashboard, other)
    with dashboard.client("write", own.owner) as bound:
        assert "Merge into the newer" in bound.get("/ui/review", params={"tab": "duplicates"}).text
        assert bound.get("/ui/review", params={"owner": other.owner}).status_code == 403
        fields = {"form": "changes", "run": str(theirs.changeset_id), "act": "approve_all"}
        assert bound.post("/ui/review", data=fields).status_code == 404
        refused = bound.post("/ui/review", params={"owner": other.owner}, data=fields)
        assert refused.status_code == 403
        pair = {"form": "pair", "kind": "near_duplicate", "memory_id": str(newer), "other_id": str(older)}
        assert bound.post("/ui/review", data={**pair, "decision": "keep_both"}).status_code == 303
    assert dashboard.run(own.curation.waiting()).near_duplicate_count == 0
    assert dashboard.run(other.curation.waiting()).staged_change_count == 3


def test_bad_input_is_a_page_that_says_what_is_wrong(
    client: httpx.Client, dashboard: Dashboard, subtests: pytest.Subtests
) -> None:
    own = fresh_owner(dashboard)
    ids = {"memory_id": str(uuid4()), "other_id": str(uuid4())}
    posts: list[tuple[str, dict[str, Any], int, str]] = [
        ("pair", {"tab": "runs"}, 422, "kind is missing"),
        ("pair", {"kind": "x", "decision": "keep_new"}, 422, "kind must be one of"),
        ("pair", {"kind": "quarantine", "decision": "burn"}, 422, "decision must be one of"),
        ("pair", {"kind": "quarantine", "decision": "keep_new"}, 422, "memory_id is missing"),
        ("pair", {"kind": "near_duplicate", "decision": "keep_new", **ids}, 404, "There is no memory"),
        ("changes", {"run": str(uuid4())}, 422, "act is missing"),
        ("changes", {"run": str(uuid4()), "act": "approve"}, 422, "No change is ticked"),
        ("changes", {"run": str(uuid4()), "only": "burn x"}, 422, "only must begin with"),
        ("changes", {"run": "x", "act": "apply_all"}, 422, "run"),
        ("changes", {"run": str(uuid4()), "act": "apply_all"}, 404, "There is no changeset"),
        ("undo", {"changeset": "x"}, 422, "changeset"),
        ("undo", {"tab": "runs"}, 422, "memory_id is missing"),
        ("burn", {"tab": "runs"}, 422, "form must be one of"),
    ]
    for name, fields, status, words in posts:
        with subtests.test(name=name, fields=fields):
            answer = client.post("/ui/review", params={"owner": own.owner}, data={"form": name, **fields})
            assert (answer.status_code, answer.headers["content-type"]) == (
                status,
                "text/html; charset=utf-8",
            )
            assert words in text_of(answer.text)
    for query in ({"tab": "x"}, {"tab": "duplicates", "before": "x"}, {"run": "x"}, {"after": "-1"}):
        with subtests.test(query=query):
            answer = client.get("/ui/review", params={"owner": own.owner, **query})
            assert (answer.status_code, answer.headers["content-type"]) == (422, "text/html; charset=utf-8")


def test_the_count_in_the_navigation_is_on_every_page_and_by_itself(
    client: httpx.Client, dashboard: Dashboard
) -> None:
    own = fresh_owner(dashboard)
    near_duplicates(dashboard, own)
    assert client.get("/ui/review/count", params={"owner": own.owner}).text == "1"
    page = client.get("/ui/overview", params={"owner": own.owner}).text
    assert page.count("data-count=") == 1
    (shown,) = [line for line in page.splitlines() if "data-count=" in line]
    assert ">1</span>" in shown
