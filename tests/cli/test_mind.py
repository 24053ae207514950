"""`mnemic goals`, `mnemic strategies`, `mnemic working`, and `mnemic recall --include`."""

from datetime import UTC, datetime, timedelta

from mnemic import Memory
from tests.cli.conftest import Run


def test_goals_are_created_blocked_completed_and_deleted(mnemic: Run, memory: Memory) -> None:
    boat = mnemic(
        "goals", "create", "Buy a boat", "--deadline", "2030-01-01", "--priority", "9", "--json"
    ).json
    assert (boat["status"], boat["priority"]) == ("active", 9)
    made = mnemic("goals", "create", "Sail away", "--blocked-by", boat["goal_id"])
    assert made.out.startswith("Created: Sail away (blocked, ")
    sail = memory.goals.list(statuses=["blocked"])[0]
    shown = " ".join(mnemic("goals", "list").out.split())
    assert "Buy a boat" in shown
    assert [each["content"] for each in mnemic("goals", "list", "--status", "blocked", "--json").json] == [
        "Sail away"
    ]
    done = mnemic("goals", "update", boat["goal_id"], "--status", "completed", "--result", "A red one.")
    assert done.out.startswith("Updated: Buy a boat (completed, ")
    assert "Result: A red one." in mnemic("goals", "get", boat["goal_id"]).out
    assert memory.goals.get(sail.goal_id).status == "active"
    assert len(mnemic("goals", "list", "--all", "--json").json) == 2
    blocked = mnemic("goals", "block", boat["goal_id"], sail.goal_id)
    assert (blocked.code, "would wait for the other" in blocked.said) == (1, True)
    assert mnemic("goals", "unblock", sail.goal_id, boat["goal_id"]).out.startswith("Unblocked: Sail away")
    assert mnemic("goals", "update", sail.goal_id, "--clear", "deadline", "--json").json["deadline"] is None
    assert mnemic("goals", "delete", sail.goal_id).out == "Deleted.\n"
    assert mnemic("goals", "delete", sail.goal_id, "--json").json == {"deleted": False}
    assert "No such goals." in mnemic("goals", "list").said
    assert mnemic("goals", "update", boat["goal_id"], "--status", "done").code == 2


def test_the_working_memory_is_written_shown_and_cleared(mnemic: Run, memory: Memory) -> None:
    goal = memory.goals.create("Learn to sail")
    there = ("--conversation", "c-1")
    assert mnemic("working", "set", "hall", '{"seats": 90}', *there).out.startswith("Set: hall, until ")
    assert mnemic("working", "set", "city", "Berlin", *there, "--json").json["value"] == "Berlin"
    assert mnemic("working", "get", "hall", *there).json == {"seats": 90}
    assert "no such value" in mnemic("working", "get", "hall").said
    assert mnemic("working", "think", "Ask first.", *there).out.startswith("Noted, until ")
    assert "no active goal" in mnemic("working", "goal", *there).said
    assert mnemic("working", "goal", goal.goal_id, *there).out.startswith("Learn to sail")
    memory.retain({"role": "user", "content": "Hello\x1b[31m there"}, conversation="c-1")
    shown = mnemic("working", "show", *there).out.splitlines()
    assert shown[1:] == [
        'value    city: "Berlin"',
        'value    hall: {"seats": 90}',
        "thought  Ask first.",
        "turn     user: Hello [31m there",
    ]
    assert mnemic("working", "delete", "city", *there).out == "Deleted.\n"
    assert mnemic("working", "clear", *there).out == "Cleared: 3\n"
    assert mnemic("working", "clear", "--everywhere", "--json").json == {"cleared": 0}
    assert "is empty" in mnemic("working", "show").said
    too_long = mnemic("working", "set", "a", "1", "--expires-in-s", "1e9")
    assert (too_long.code, "604,800" in too_long.said) == (1, True)


def test_strategies_are_learnt_found_and_reinforced(mnemic: Run, memory: Memory) -> None:
    learnt = mnemic(
        "strategies", "learn", "bake bread", "Let the dough rest.", "--tool", "oven", "--json"
    ).json
    assert (learnt["tools"], learnt["success_count"]) == (["oven"], 0)
    said = mnemic("strategies", "reinforce", learnt["strategy_id"], "--failed", "--note", "It burnt.").out
    assert said.startswith("Reinforced: bake bread (warning: worked 0, failed 1, ")
    found = mnemic("strategies", "find", "bake some bread", "--json").json
    assert [each["failure_notes"] for each in found] == [["It burnt."]]
    assert "bake bread" in " ".join(mnemic("strategies", "list").out.split())
    assert mnemic("strategies", "list", "--mined", "--json").json == []
    assert "No such strategies" in mnemic("strategies", "find", "quantum chromodynamics").said
    memory.retain({"role": "user", "content": "Bake bread."}, conversation="c-1")
    assert "No tool calls" in mnemic("strategies", "tools").said
    at = datetime.now(UTC) - timedelta(hours=1)
    memory.conversations.record_tool("c-1", "oven", duration_ms=12.0, at=at)
    assert "oven 1 100% 12" in " ".join(mnemic("strategies", "tools").out.split())
    assert [each["tool"] for each in mnemic("strategies", "tools", "--task", "bread", "--json").json] == [
        "oven"
    ]


def test_recall_shows_what_is_included(mnemic: Run, memory: Memory) -> None:
    memory.retain("Alice sails.")
    memory.goals.create("Learn to\nsail\x1b[31m")
    memory.working.set("city", "Berlin", conversation="c-1")
    asked = ("recall", "sails", "--include", "goals", "--include", "working", "--current-conversation", "c-1")
    assert mnemic(*asked).out.startswith(
        "Open goals:\n[priority 5] Learn to\n  sail [31m\nWorking memory:\n[value] city: Berlin\n"
    )
    assert mnemic(*asked, "--json").json["goals"][0]["priority"] == 5
    assert "Memories:\n[" in mnemic(*asked, "--text").out
    assert mnemic("recall", "sails", "--include", "gaols").code == 1
