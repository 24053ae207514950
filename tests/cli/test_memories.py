"""`mnemic memories`: list, get, update, supersede, forget, restore, history."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from mnemic import Memory
from mnemic.config import Settings
from tests.cli.conftest import Run


def test_memories_are_listed_newest_first(mnemic: Run, memory: Memory) -> None:
    memory.retain("An old fact.", tags=["old"])
    memory.retain("A [red]new[/] one.\x1b[2J", category="preference", channel="work")
    listed = mnemic("memories", "list", "--json").json
    assert [record["content"] for record in listed] == ["A [red]new[/] one.\x1b[2J", "An old fact."]
    shown = mnemic("memories", "list")
    assert (shown.code, shown.err) == (0, "")
    assert "A [red]new[/] one." in " ".join(shown.out.split())
    assert "\x1b" not in shown.out


@pytest.mark.parametrize(
    ("options", "contents"),
    [
        (["--category", "preference"], ["B"]),
        (["--tag", "t"], ["A"]),
        (["--channel", "work"], ["B"]),
        (["--conversation", "c"], ["C"]),
        (["--status", "archived"], []),
        (["--limit", "1"], ["C"]),
        (["--forgotten"], ["D", "C", "B", "A"]),
        (["--owner", "bob"], ["E"]),
        (["--q", "b*"], ["B"]),
        (["--source", "imported"], []),
        (["--order", "oldest", "--never-recalled", "--min-confidence", "0.5"], ["A", "B", "C"]),
        (["--as-of", "2001-01-01"], []),
        (["--role", "user"], []),
        (["--name", "Ann"], []),
    ],
)
def test_lists_can_be_narrowed(mnemic: Run, memory: Memory, options: list[str], contents: list[str]) -> None:
    memory.retain("A", tags=["t"])
    memory.retain("B", category="preference", channel="work")
    memory.retain("C", conversation="c")
    memory.memories.forget(memory.retain("D").memory_ids[0])
    memory.retain("E", owner="bob")
    listed = mnemic("memories", "list", "--json", *options).json
    assert [record["content"] for record in listed] == contents


def test_pages_follow_each_other(mnemic: Run, memory: Memory) -> None:
    ids = [str(memory.retain(text).memory_ids[0]) for text in ("A", "B", "C")]
    listed = mnemic("memories", "list", "--json", "--before", ids[2], "--limit", 1).json
    assert [record["memory_id"] for record in listed] == [ids[1]]


def test_a_memory_is_shown_forgotten_restored_and_its_history_told(mnemic: Run, memory: Memory) -> None:
    memory_id = memory.retain("Alice likes tea.").memory_ids[0]
    assert mnemic("memories", "get", memory_id, "--json").json["content"] == "Alice likes tea."
    assert "Alice likes tea." in mnemic("memories", "get", memory_id).out
    ended = mnemic("memories", "forget", memory_id, "--reason", "She does not.")
    assert (ended.code, ended.out) == (0, "Forgotten: Alice likes tea.\n")
    assert not memory.recall("tea", refuse_below=0)
    assert mnemic("memories", "restore", memory_id, "--json").json["deleted_at"] is None
    assert memory.recall("tea", refuse_below=0)
    versions = mnemic("memories", "history", memory_id, "--json").json
    assert [version["version"] for version in versions] == [1, 2, 3]
    shown = mnemic("memories", "history", memory_id).out
    assert "She does not." in " ".join(shown.split())
    assert "forgotten" in shown


def test_feedback_is_given(mnemic: Run, memory: Memory) -> None:
    memory_id = memory.retain("Alice likes tea.").memory_ids[0]
    said = mnemic("memories", "feedback", memory_id, "--cited", "--conversation", "c", "--note", "Right.")
    assert (said.code, said.out) == (0, "Counted: usefulness 0.60, salience 0.60: Alice likes tea.\n")
    given = mnemic("memories", "feedback", memory_id, "--not-useful", "--conversation", "d", "--json").json
    assert given["usefulness"] == pytest.approx(0.5)
    kinds = {each.conversation: each.kind for each in memory.memories.list_feedback()}
    assert kinds == {"c": "cited", "d": "not_useful"}
    assert mnemic("memories", "feedback", memory_id, "--cited", "--not-useful").code == 1


def test_memories_and_their_values_are_counted(mnemic: Run, memory: Memory) -> None:
    memory.retain(["Tea", "Cake"], tags=["food"])
    counted = mnemic("memories", "list", "--facets", "--json").json
    assert counted["count"] == {"count": 2, "is_exact": True}
    assert counted["facets"]["tags"] == [{"value": "food", "count": 2}]
    shown = " ".join(mnemic("memories", "list", "--facets").out.split())
    assert "2 memories" in shown
    assert "tags food 2" in shown


def test_promotions_are_listed(mnemic: Run, memory: Memory, folder: Path, tenant: str) -> None:
    assert mnemic("memories", "promotions").out == "No memory has been promoted.\n"
    work = memory.scope(channel="work")
    memory_id = work.retain("Alice likes tea.", confidence=0.9).memory_ids[0]
    for number in range(5):
        work.memories.feedback(memory_id, conversation=f"c{number}")
    with Memory(settings=Settings(data_dir=folder, tenant=tenant), embedder="test") as worker:
        worker.jobs.wait(worker.jobs.enqueue("mind.promote").job_id)
    (listed,) = mnemic("memories", "promotions", "--json").json
    assert (listed["memory_id"], listed["origin_channel"], listed["state"]) == (
        str(memory_id),
        "work",
        "promoted",
    )
    shown = mnemic("memories", "promotions").out
    assert "promoted" in shown
    assert "work" in shown


@pytest.mark.parametrize("command", ["get", "forget", "restore", "history", "feedback"])
def test_what_is_not_there_is_an_error(mnemic: Run, memory: Memory, command: str) -> None:
    missing = mnemic("memories", command, "0190a000-0000-7000-8000-000000000000")
    assert (missing.code, missing.out, "There is no memory" in missing.said) == (1, "", True)
    bad = mnemic("memories", command, "x")
    assert (bad.code, bad.out, "memory_id must be an id" in bad.said) == (1, "", True)
    others = memory.retain("Mine.", owner="bob").memory_ids[0]
    assert mnemic("memories", command, others).code == 1


def test_a_choice_that_does_not_exist_is_an_error_that_lists_them(mnemic: Run) -> None:
    ended = mnemic("memories", "list", "--category", "facts")
    assert (ended.code, ended.out) == (1, "")
    assert "factual, preference" in ended.said


def test_fields_are_changed_and_the_history_keeps_what_was(mnemic: Run, memory: Memory) -> None:
    memory_id = memory.retain("Alice likes tea.", tags=["old"]).memory_ids[0]
    changes = ("--content", "Alice likes green tea.", "--tag", "tea", "--at", "2026-03-01")
    shown = mnemic("memories", "update", memory_id, *changes)
    assert (shown.code, shown.out) == (0, "Updated: Alice likes green tea.\n")
    record = memory.memories.get(memory_id)
    assert (record.content, record.tags) == ("Alice likes green tea.", ("tea",))
    assert record.at == datetime(2026, 3, 1, tzinfo=UTC)
    more = ("--confidence", "0.5", "--anchored", "--category", "preference", "--reason", "she said so")
    changed = mnemic("memories", "update", memory_id, *more, "--json").json
    assert (changed["confidence"], changed["anchored"], changed["category"]) == (0.5, True, "preference")
    assert changed["change_reason"] == "she said so"
    assert memory.memories.history(memory_id)[0].content == "Alice likes tea."


def test_an_update_without_changes_is_an_error(mnemic: Run, memory: Memory) -> None:
    memory_id = memory.retain("Alice likes tea.").memory_ids[0]
    ended = mnemic("memories", "update", memory_id, "--reason", "no reason")
    assert (ended.code, "give at least one option" in ended.said) == (1, True)
    assert len(memory.memories.history(memory_id)) == 1


def test_a_memory_is_superseded_by_a_new_one(mnemic: Run, memory: Memory) -> None:
    old_id = memory.retain("Alice lives in Berlin.").memory_ids[0]
    since = ("--valid-from", "2026-03-01")
    new = mnemic("memories", "supersede", old_id, "Alice lives in Paris.", *since, "--json").json
    assert (new["content"], new["valid_from"]) == ("Alice lives in Paris.", "2026-03-01T00:00:00+00:00")
    assert memory.memories.get(old_id).status == "superseded"
    shown = mnemic("memories", "supersede", new["memory_id"], "Alice lives in Rome.")
    assert shown.out.startswith(f"Superseded {new['memory_id']} by ")
    assert shown.out.endswith(": Alice lives in Rome.\n")


def test_an_empty_list_says_why_it_is_empty(mnemic: Run, memory: Memory) -> None:
    assert mnemic("memories", "list").out == "The owner 'alice' has no memories.\n"
    assert mnemic("conversations", "list").out == "The owner 'alice' has no memories.\n"
    memory.retain("Alice likes tea.")
    assert mnemic("memories", "list", "--tag", "coffee").out == "No memory passes the filters.\n"
    assert mnemic("conversations", "list").out == "No conversations.\n"
    assert mnemic("memories", "list", "--tag", "coffee", "--json").json == []


def test_the_map_is_asked_for_and_its_regions_are_shown(mnemic: Run, memory: Memory) -> None:
    memory.retain([f"The [b]garden[/] has rose number {number}." for number in range(10)])
    assert "There is no map yet" in mnemic("memories", "map").out
    assert mnemic("memories", "map", "--make").code == 0
    # The worker in this process may run the job at once.
    (job,) = memory.jobs.list(type="memories.map")
    assert (job.owner, memory.jobs.wait(job.job_id).state) == (memory.owner, "done")
    found = mnemic("memories", "map", "--json").json
    assert (len(found["points"]), found["memory_count"]) == (10, 10)
    assert "10 memories, made 20" in mnemic("memories", "map").out
    refused = mnemic("memories", "map", "--limit", "0")
    assert (refused.code, "limit must be" in refused.err) == (1, True)
