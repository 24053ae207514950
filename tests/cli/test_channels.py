"""`mnemic channels`: list, fork, merge, drop."""

from mnemic import Memory
from tests.cli.conftest import Run


def test_a_channel_is_forked_merged_and_dropped(mnemic: Run, memory: Memory) -> None:
    paris = memory.retain("Alice lives in Paris.").memory_ids[0]
    assert mnemic("channels", "fork", "what-if", "--reason", "a trip").out == "Forked: _global → what-if\n"
    memory.retain("Alice lives in Berlin.", channel="what-if")
    assert mnemic("memories", "forget", str(paris), "--channel", "what-if").code == 0
    assert mnemic("memories", "restore", str(paris), "--channel", "what-if").code == 0
    mnemic("memories", "forget", str(paris), "--channel", "what-if")
    assert [each.content for each in memory.memories.list()] == ["Alice lives in Paris."]
    listed = mnemic("channels", "list", "--json").json
    assert [(each["channel"], each["state"]) for each in listed] == [("_global", None), ("what-if", "open")]
    assert "what-if" in mnemic("channels", "list").out
    shown = mnemic("channels", "merge", "what-if", "--dry-run").out
    assert "Dry run" in shown
    assert "Alice lives in Berlin." in shown
    memory.memories.update(paris, content="Alice lives in Rome.")
    refused = mnemic("channels", "merge", "what-if")
    assert (refused.code, "changed:forgotten" in refused.said) == (1, True)
    (conflict,) = mnemic("channels", "merge", "what-if", "--dry-run", "--json").json["conflicts"]
    choice = f"{conflict['conflict_id']}=branch"
    assert mnemic("channels", "merge", "what-if", "--choice", "nonsense").code == 1
    merged = mnemic("channels", "merge", "what-if", "--choice", choice, "--otherwise", "parent")
    assert (merged.code, "Merged: what-if → _global" in merged.out) == (0, True)
    assert [each.content for each in memory.memories.list()] == ["Alice lives in Berlin."]
    assert mnemic("channels", "drop", "what-if", "--json").code == 1
    assert (
        mnemic("channels", "drop", "what-if", "--yes", "--json").json["rows"]["state.channel_branches"] == 1
    )
    mnemic("channels", "fork", "again")
    assert mnemic("channels", "drop", "again", "--yes").out.startswith("Dropped: ")
    assert mnemic("channels", "fork", "_global").code == 1
