"""`mnemic stats`, `mnemic owners`, `mnemic erase` and `mnemic receipt`."""

from mnemic import Memory
from tests.cli.conftest import Run


def test_stats_count(mnemic: Run, memory: Memory) -> None:
    memory.retain(["One.", "Two."])
    assert mnemic("stats", "--json").json["memory_count"] == 2
    assert ["memory", "2"] in [line.split() for line in mnemic("stats").out.splitlines()]


def test_erasing_asks_first(mnemic: Run, memory: Memory) -> None:
    memory.retain("About Bob.", owner="bob")
    refused = mnemic("erase", "--owner", "bob", stdin=b"n\n")
    assert (refused.code, refused.out.strip()) == (1, "")
    assert "Erase all that is held about 'bob', for good?" in refused.said
    unasked = mnemic("erase", "--owner", "bob", stdin=b"")
    assert unasked.code == 1
    silent = mnemic("erase", "--owner", "bob", "--json")
    assert (silent.code, silent.out, "--yes" in silent.said) == (1, "", True)
    assert len(memory.memories.list(owner="bob")) == 1
    agreed = mnemic("erase", "--owner", "bob", stdin=b"y\n")
    assert (agreed.code, "Receipt" in agreed.out) == (0, True)
    assert memory.memories.list(owner="bob") == []


def test_the_owner_is_named_never_taken_from_the_environment(mnemic: Run, memory: Memory) -> None:
    memory.retain("About Alice.")
    assert mnemic("erase", "--yes").code == 2
    assert len(memory.memories.list()) == 1


def test_a_receipt_is_given_and_archiving_loses_nothing(mnemic: Run, memory: Memory) -> None:
    memory.retain("About Bob.", owner="bob")
    archived = mnemic("erase", "--owner", "bob", "--archive", "--yes", "--json").json
    assert (archived["mode"], archived["rows"]["state.memories"]) == ("archive", 1)
    assert len(memory.memories.list(owner="bob", statuses=["archived"])) == 1
    erased = mnemic("erase", "--owner", "bob", "--yes", "--json").json
    assert (erased["mode"], erased["rows"]["state.memories"]) == ("erase", 1)
    assert memory.memories.list(owner="bob", statuses=None) == []
    shown = mnemic("receipt", erased["receipt_id"], "--json").json
    assert shown == erased
    assert erased["receipt_id"] in mnemic("receipt", erased["receipt_id"]).out
    assert "no receipt" in mnemic("receipt", "01a1eec9-1618-7251-932d-fa2f351d6cb3").said


def test_owners_are_listed_with_their_counts(mnemic: Run, memory: Memory) -> None:
    memory.retain(["One.", "Two."], owner="bob")
    memory.retain("One.", owner="carol", conversation="c")
    assert [each["owner"] for each in mnemic("owners", "--json").json] == ["bob", "carol"]
    (carol,) = mnemic("owners", "--prefix", "ca", "--json").json
    assert (carol["memory_count"], carol["conversation_count"]) == (1, 1)
    first, _ = mnemic("owners", "--order", "memories", "--json").json
    assert first["owner"] == "bob"
    assert any(line.split()[:2] == ["bob", "2"] for line in mnemic("owners").out.splitlines())
    assert "--order must be" in mnemic("owners", "--order", "size").said
