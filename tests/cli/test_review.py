"""`mnemic curate waiting`, `pairs`, `resolve` and `reopen`, and `mnemic cleanup`."""

from uuid import UUID

from mnemic import Memory
from tests.cli.conftest import Run


def near_duplicates(memory: Memory) -> tuple[UUID, UUID]:
    (older,) = memory.retain("Alice drinks green tea every morning.").memory_ids
    (newer,) = memory.retain("Every morning Alice drinks green tea.").memory_ids
    memory.memories.near_duplicates()
    return older, newer


def test_a_pair_is_listed_decided_and_taken_back(mnemic: Run, memory: Memory) -> None:
    older, newer = near_duplicates(memory)
    assert "near duplicate: 1\n" in mnemic("curate", "waiting").out
    assert mnemic("curate", "waiting", "--json").json["total_count"] == 1
    (pair,) = mnemic("curate", "pairs", "near_duplicate", "--json").json["pairs"]
    assert (pair["memory"]["memory_id"], pair["other"]["memory_id"]) == (str(newer), str(older))
    shown = mnemic("curate", "pairs", "near_duplicate").out
    assert str(newer) in shown
    assert str(older) in shown
    kept = mnemic("curate", "resolve", "near_duplicate", str(newer), "keep_both", str(older))
    assert f"mnemic curate reopen near_duplicate {newer} {older}" in " ".join(kept.out.split())
    assert mnemic("curate", "reopen", "near_duplicate", str(newer), str(older)).code == 0
    done = mnemic("curate", "resolve", "near_duplicate", str(newer), "keep_new", str(older), "--json").json
    assert memory.memories.get(older).status == "merged"
    late = mnemic("curate", "resolve", "near_duplicate", str(newer), "keep_new", str(older))
    assert (late.code, "is merged by now" in " ".join(late.said.split())) == (1, True)
    assert mnemic("curate", "undo", done["changeset_id"], "--yes").code == 0
    assert memory.memories.get(older).status == "active"


def test_cleanup_is_counted_listed_tried_and_run(mnemic: Run, memory: Memory) -> None:
    (over,) = memory.retain("The shop is closed.", expires_at="2020-01-01T00:00:00Z").memory_ids
    assert mnemic("cleanup", "counts", "--json").json == []
    counted = mnemic("cleanup", "counts", "--refresh", "--json").json
    assert {each["kind"]: each["memory_count"] for each in counted} == {
        "stale": 0,
        "expired": 1,
        "never_recalled": 0,
        "dead_links": 0,
    }
    assert "expired" in mnemic("cleanup", "counts").out
    assert str(over) in mnemic("cleanup", "list", "expired").out
    dry = mnemic("cleanup", "archive", "expired")
    assert "+ status: archived" in dry.out
    assert "This was a dry run of 1 changes." in dry.said
    assert memory.memories.get(over).status == "active"
    done = mnemic("cleanup", "archive", "expired", "--memory", str(over), "--yes", "--json").json
    assert memory.memories.get(over).status == "archived"
    again = mnemic("cleanup", "archive", "expired", "--memory", str(over), "--yes")
    assert "Left out, because it does not qualify" in again.said
    assert mnemic("curate", "undo", done["changeset_id"], "--yes").code == 0
    assert mnemic("cleanup", "list", "nonsense").code == 2
