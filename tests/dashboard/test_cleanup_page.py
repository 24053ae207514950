"""The page Cleanup over HTTP: dry run, archiving some or all, and one undo for a run."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.dashboard.running import Dashboard
from tests.dashboard.waiting_things import SOON, expired, fresh_owner, send, state, text_of, undo

KINDS = ("stale", "expired", "never_recalled", "dead_links")


@pytest.fixture(scope="module")
def client(dashboard: Dashboard) -> Iterator[httpx.Client]:
    with dashboard.client() as opened_client:
        yield opened_client


def opened(client: httpx.Client, owner: str | None, **fields: Any) -> str:
    answer = client.get("/ui/cleanup", params={"owner": owner, **fields})
    assert answer.status_code == 200, answer.text
    assert len(answer.content) < 60_000
    return answer.text


def tried(client: httpx.Client, owner: str | None, fields: Any) -> str:
    answer = client.post("/ui/cleanup", params={"owner": owner}, data=fields)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_empty_tabs_say_so_and_counts_have_their_age(client: httpx.Client, dashboard: Dashboard) -> None:
    owner = f"nobody {uuid4()}"
    for kind in KINDS:
        text = text_of(opened(client, owner, kind=kind))
        assert "Nothing to clean up here" in text
        assert "Not counted yet" in text
    shown = text_of(send(client, "/ui/cleanup", owner, {"kind": "expired", "act": "count"}))
    assert "Counted just now" in shown
    assert "Stale 0 Expired 0 Never recalled 0 Dead links 0" in shown


def test_some_are_tried_archived_and_undone(client: httpx.Client, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    ids = expired(dashboard, own)
    before = state(dashboard, own, *ids)
    assert "It has expired." in text_of(opened(client, own.owner, kind="expired"))
    chosen = {"kind": "expired", "memory": [str(each) for each in ids[:2]]}
    dry = tried(client, own.owner, {**chosen, "act": "try"})
    assert "Dry run: 2 memories would change" in text_of(dry)
    assert state(dashboard, own, *ids) == before
    assert dashboard.run(own.curation.list()) == []
    shown = send(client, "/ui/cleanup", own.owner, {**chosen, "act": "archive"})
    assert "Archived 2 memories." in text_of(shown)
    assert [each[0] for each in state(dashboard, own, *ids)] == ["archived", "archived", "active"]
    shown = undo(client, shown)
    assert "Undone: everything is as it was before." in text_of(shown)
    assert state(dashboard, own, *ids) == before


def test_all_are_archived_in_one_run_and_counted_again(client: httpx.Client, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    send(client, "/ui/cleanup", own.owner, {"kind": "expired", "act": "count"})
    ids = expired(dashboard, own)
    assert "Expired 0" in text_of(opened(client, own.owner, kind="expired"))
    shown = send(client, "/ui/cleanup", own.owner, {"kind": "expired", "act": "count"})
    assert "Expired 3" in text_of(shown)
    dry = tried(client, own.owner, {"kind": "expired", "act": "try_all"})
    assert "Dry run: 3 memories would change" in text_of(dry)
    assert 'name="all"' in dry
    shown = send(client, "/ui/cleanup", own.owner, {"kind": "expired", "all": "yes", "act": "archive"})
    assert "Archived 3 memories." in text_of(shown)
    (changeset,) = dashboard.run(own.curation.list())
    assert (changeset.purpose, changeset.change_counts) == ("cleanup", {"applied": 3})
    undo(client, shown)
    assert [each[0] for each in state(dashboard, own, *ids)] == ["active"] * 3


def test_pages_stay_small_with_many_long_memories(client: httpx.Client, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    texts = [f"{number} <b>{'long & wide ' * 150}" for number in range(60)]
    dashboard.run(own.retain(texts, expires_at=SOON))
    page = opened(client, own.owner, kind="expired")
    assert "after=" in page
    dry = tried(client, own.owner, {"kind": "expired", "act": "try_all"})
    assert len(dry) < 60_000
    assert "And 20 more of the same kind." in text_of(dry)


def test_memories_that_were_used_meanwhile_are_left_out_and_said(
    client: httpx.Client, dashboard: Dashboard
) -> None:
    own = fresh_owner(dashboard)
    first, second = expired(dashboard, own, 2)
    dashboard.run(own.memories.update(second, anchored=True))
    chosen = {"kind": "expired", "memory": [str(first), str(second)]}
    assert "1 of those ticked do not qualify any more" in text_of(
        tried(client, own.owner, {**chosen, "act": "try"})
    )
    shown = text_of(send(client, "/ui/cleanup", own.owner, {**chosen, "act": "archive"}))
    assert "Archived 1 memory. 1 were left out" in shown
    assert [each[0] for each in state(dashboard, own, first, second)] == ["archived", "active"]
    shown = text_of(send(client, "/ui/cleanup", own.owner, {**chosen, "act": "archive"}))
    assert "Nothing was changed. 2 were left out" in shown


def test_an_undo_that_is_no_longer_possible_is_explained(client: httpx.Client, dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    (only,) = expired(dashboard, own, 1)
    send(client, "/ui/cleanup", own.owner, {"kind": "expired", "all": "yes", "act": "archive"})
    (changeset,) = dashboard.run(own.curation.list())
    dashboard.run(own.memories.tag(only, "mine"))
    late = client.post(
        "/ui/review",
        params={"owner": own.owner},
        data={"form": "undo", "changeset": str(changeset.changeset_id)},
    )
    assert late.status_code == 409
    assert f"The memory {only} was changed after the change was applied (tags)." in text_of(late.text)


def test_a_reader_may_look_but_not_archive(dashboard: Dashboard) -> None:
    own = fresh_owner(dashboard)
    (only,) = expired(dashboard, own, 1)
    with dashboard.client("read") as reader:
        page = opened(reader, own.owner, kind="expired")
        assert "Your key may look, but not archive." in page
        assert 'name="act"' not in page
        fields = {"kind": "expired", "all": "yes", "act": "archive"}
        assert reader.post("/ui/cleanup", params={"owner": own.owner}, data=fields).status_code == 403
    assert dashboard.run(own.memories.get(only)).status == "active"


def test_a_bound_key_cleans_its_own_owner_only(dashboard: Dashboard) -> None:
    own, other = fresh_owner(dashboard), fresh_owner(dashboard)
    (mine,), (theirs,) = expired(dashboard, own, 1), expired(dashboard, other, 1)
    with dashboard.client("write", own.owner) as bound:
        assert bound.get("/ui/cleanup", params={"owner": other.owner}).status_code == 403
        fields = {"kind": "expired", "memory": [str(mine), str(theirs)], "act": "archive"}
        assert bound.post("/ui/cleanup", data=fields).status_code == 303
    assert dashboard.run(own.memories.get(mine)).status == "archived"
    assert dashboard.run(other.memories.get(theirs)).status == "active"


def test_bad_input_is_a_page_that_says_what_is_wrong(
    client: httpx.Client, dashboard: Dashboard, subtests: pytest.Subtests
) -> None:
    owner = fresh_owner(dashboard).owner
    wrong: list[dict[str, str]] = [
        {"kind": "x"},
        {"unused_days": "0"},
        {"salience_below": "nan"},
        {"after": "x"},
    ]
    for query in wrong:
        with subtests.test(query=query):
            answer = client.get("/ui/cleanup", params={"owner": owner, **query})
            assert (answer.status_code, answer.headers["content-type"]) == (422, "text/html; charset=utf-8")
    forms: list[tuple[dict[str, str], str]] = [
        ({"act": "burn"}, "act must be one of"),
        ({"act": "archive"}, "No memory is ticked"),
        ({"act": "archive", "memory": "x"}, "memory_ids"),
    ]
    for fields, words in forms:
        with subtests.test(fields=fields):
            answer = client.post("/ui/cleanup", params={"owner": owner}, data=fields)
            assert (answer.status_code, answer.headers["content-type"]) == (422, "text/html; charset=utf-8")
            assert words in text_of(answer.text)
