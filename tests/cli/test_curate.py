"""`mnemic curate`: propose, list, show, approve, reject, apply, undo, policy; and `mnemic memories why`."""

from uuid import UUID

from mnemic import Memory
from tests.cli.conftest import Run


def outdated(memory: Memory) -> UUID:
    older, newer = memory.retain(["Alice lives in Berlin.", "Alice has moved to Lisbon."]).memory_ids
    memory.memories.decide_outdated(older, newer, "outdated")
    return older


def test_proposals_are_shown_staged_applied_and_undone(mnemic: Run, memory: Memory) -> None:
    older = outdated(memory)
    dry = mnemic("curate", "propose")
    assert (dry.code, "+ status: superseded" in dry.out, "This was a dry run." in dry.said) == (0, True, True)
    assert mnemic("curate", "list", "--json").json == []
    staged = mnemic("curate", "propose", "--stage", "--json").json
    changeset_id, change_id = staged["changeset_id"], staged["changes"][0]["change_id"]
    assert staged["counts"] == {"supersede": 1, "keep": 1}
    (listed,) = mnemic("curate", "list", "--state", "staged", "--json").json
    assert (listed["changeset_id"], listed["change_counts"]) == (changeset_id, {"staged": 1})
    assert "purpose curation state staged changes 1 staged" in " ".join(mnemic("curate", "list").out.split())
    shown = mnemic("curate", "show", changeset_id)
    assert "- status: active\n+ status: superseded\n" in shown.out
    assert "because: A newer memory gives another value of the same attribute." in shown.out
    refused = mnemic("curate", "apply", changeset_id, "--yes")
    assert (refused.code, "approve some first" in refused.said) == (1, True)
    assert mnemic("curate", "approve", changeset_id, "--change", change_id).out.startswith("Approved: ")
    assert "Nothing was changed." in mnemic("curate", "apply", changeset_id).said
    assert memory.memories.get(older).status == "active"
    assert mnemic("curate", "apply", changeset_id, "--yes", "--json").json["state"] == "applied"
    assert memory.memories.get(older).status == "superseded"
    assert "Nothing was changed." in mnemic("curate", "undo", changeset_id).said
    assert mnemic("curate", "undo", changeset_id, "--yes").out.startswith("Undone: ")
    assert memory.memories.get(older).status == "active"


def test_proposals_are_rejected(mnemic: Run, memory: Memory) -> None:
    outdated(memory)
    changeset_id = mnemic("curate", "propose", "--stage", "--json").json["changeset_id"]
    assert mnemic("curate", "reject", changeset_id).out == (
        f"Rejected: changeset {changeset_id} is rejected (1 rejected).\n"
    )
    assert mnemic("curate", "reject", changeset_id).code == 1
    assert "There is nothing to propose." in mnemic("curate", "propose").out
    assert mnemic("curate", "propose", "--kind", "nonsense").code == 1


def test_policies_are_shown_and_set(mnemic: Run, memory: Memory) -> None:
    assert "archive: ask\n" in mnemic("curate", "policy").out
    assert mnemic("curate", "policy", "archive", "--automatic", "--json").json["archive"] is True
    assert "archive: automatic\n" in mnemic("curate", "policy").out
    assert mnemic("curate", "policy", "everything", "--automatic").code == 1


def test_a_memory_is_explained(mnemic: Run, memory: Memory) -> None:
    (turn,) = memory.retain({"role": "user", "content": "I moved to Lisbon."}, conversation="c-1").memory_ids
    (fact,) = memory.retain("Alice lives in Lisbon.").memory_ids
    memory.memories.relate(fact, turn, "derived_from")
    shown = mnemic("memories", "why", fact)
    assert "It rests on:" in shown.out
    assert "I moved to Lisbon." in shown.out
    assert mnemic("memories", "why", fact, "--json").json["sources"][0]["memory_id"] == str(turn)
