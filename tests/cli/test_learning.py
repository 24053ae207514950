"""`mnemic consolidate` and `mnemic statements`."""

from tests.cli.conftest import Run


def test_an_owner_learns(mnemic: Run) -> None:
    mnemic("retain", "Alice works at Acme.", "--owner", "learner")
    learnt = mnemic("consolidate", "--owner", "learner", "--json").json
    assert learnt["statement_count"] == 1
    shown = mnemic("consolidate", "--owner", "learner")
    assert "Texts read: 0. Statements: 0 new" in shown.out
    (statement,) = mnemic("statements", "list", "--owner", "learner", "--json").json
    assert (statement["attribute"], statement["value"]) == ("works_at", "Acme")
    assert "works_at" in mnemic("statements", "list", "--owner", "learner", "--subject", "Alice").out
    assert mnemic("statements", "rejected", "--owner", "learner", "--json").json == []


def test_all_owners_learn_by_a_job(mnemic: Run) -> None:
    mnemic("retain", "Ben works at Globex.", "--owner", "another")
    learnt = mnemic("consolidate", "--all", "--json").json
    assert learnt["statement_count"] >= 1
    assert mnemic("statements", "list", "--owner", "another", "--json").json[0]["value"] == "Globex"


def test_policies_and_attributes(mnemic: Run) -> None:
    assert "one value" in mnemic("statements", "set-attribute", "team").out
    assert mnemic("statements", "attributes", "--json").json == [
        {"attribute": "team", "is_single_valued": True}
    ]
    assert "prefer_old" in mnemic("statements", "set-policy", "prefer_old", "--channel", "x").out
    assert mnemic("statements", "policies", "--json").json == [{"channel": "x", "policy": "prefer_old"}]
    assert mnemic("statements", "set-policy", "whatever").code != 0


def test_names_with_brackets_are_printed_as_they_are(mnemic: Run) -> None:
    assert mnemic("statements", "set-policy", "prefer_old", "--channel", "[/notes]").code == 0
    assert "[/notes]" in mnemic("statements", "policies").out


def test_an_owner_without_memories_is_named(mnemic: Run) -> None:
    for command in (("statements", "list"), ("profile",)):
        assert mnemic(*command, "--owner", "stranger").out == "The owner 'stranger' has no memories.\n"
    assert mnemic("statements", "list", "--owner", "stranger", "--json").json == []
