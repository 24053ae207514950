"""`mnemic context`: sessions of agents, their objects and decisions."""

from mnemic import Memory
from tests.cli.conftest import Run

TEXT = "\n".join(f"line {number}: value_{number} = {number * 7}" for number in range(300))


def test_a_session_is_listed_shown_asked_and_closed(mnemic: Run, memory: Memory) -> None:
    assert "No such context sessions." in mnemic("context", "list").said
    context = memory.context("monday")
    context.admit(TEXT, tool="read", key="src/app.py", type="file")
    context.admit("output line\n" * 5_000, tool="bash", key="make", type="command")
    listed = " ".join(mnemic("context", "list").out.split())
    assert "monday" in listed
    assert "normal" in listed
    assert mnemic("context", "list", "--closed", "--json").json == []
    asked = mnemic("context", "query", "monday", "value_123", "--object", "src/app.py")
    assert asked.out.startswith("src/app.py#1\n")
    assert f"value_123 = {123 * 7}" in asked.out
    assert mnemic("context", "pin", "monday", "make").out == "Pinned: make#2\n"
    assert mnemic("context", "unpin", "monday", "make").out == "Unpinned: make#2\n"
    restored = mnemic("context", "restore", "monday", "src/app.py", "--json").json
    assert restored["texts"] == {"src/app.py#1": TEXT}
    assert restored["is_pinned"] is True
    shown = " ".join(mnemic("context", "show", "monday").out.split())
    for expected in ("zone normal", "USD saved", "src/app.py#1", "pinned", "admission", "micro", "value_123"):
        assert expected in shown
    everything = mnemic("context", "show", "monday", "--json").json
    assert [item["level"] for item in everything["objects"]] == [0, 1]
    assert [event["kind"] for event in everything["history"]][-2:] == ["fault", "fault"]
    assert mnemic("context", "close", "monday").out == "Closed; 1 new memories.\n"
    assert mnemic("context", "list", "--closed", "--json").json[0]["session"] == "monday"
    assert mnemic("context", "delete", "monday").out == "Deleted.\n"
    assert mnemic("context", "delete", "monday", "--json").json == {"deleted": False}
    missing = mnemic("context", "show", "monday")
    assert (missing.code, "no context session" in missing.said) == (1, True)
