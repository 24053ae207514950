"""`mnemic entities` and `mnemic conversations`."""

import pytest

from mnemic import Memory
from tests.cli.conftest import Run


def test_entities_are_listed_and_shown(mnemic: Run, memory: Memory) -> None:
    alice = memory.entities.upsert("person", "Alice", facts={"city": "[red]Berlin[/]"}, aliases=["Al"])
    memory.entities.upsert("company", "Acme")
    memory.entities.relate(("person", "Alice"), ("company", "Acme"), "works at")
    assert [each["name"] for each in mnemic("entities", "list", "--json").json] == ["Acme", "Alice"]
    assert [each["name"] for each in mnemic("entities", "list", "--json", "--category", "person").json] == [
        "Alice"
    ]
    assert "Alice" in mnemic("entities", "list").out
    by_id = mnemic("entities", "get", alice.entity_id, "--json").json
    by_name = mnemic("entities", "get", "person", "al", "--json").json
    assert by_id == by_name
    assert (by_id["facts"], by_id["relations"][0]["kind"]) == ({"city": "[red]Berlin[/]"}, "works at")
    shown = mnemic("entities", "get", "person", "Alice").out
    assert "[red]Berlin[/]" in shown
    assert "Alice → works at → Acme" in shown
    missing = mnemic("entities", "get", "person", "Bob")
    assert (missing.code, missing.out) == (1, "")


def test_entities_are_listed_by_prefix_and_order(mnemic: Run, memory: Memory) -> None:
    memory.entities.upsert("person", "Alice", aliases=["Countess"], salience=0.9)
    memory.entities.upsert("person", "Carl", salience=0.1)
    memory.retain("Carl sings.")
    listed = mnemic("entities", "list", "--prefix", "c", "--order", "mentions", "--json").json
    assert [(each["name"], each["counts"]["mention_count"]) for each in listed] == [("Carl", 1), ("Alice", 0)]
    refused = mnemic("entities", "list", "--order", "age")
    assert (refused.code, "order must be one of" in refused.err) == (1, True)


def test_a_graph_is_shown_as_of_a_moment(mnemic: Run, memory: Memory) -> None:
    memory.entities.upsert("person", "Alice", facts={"age": 41})
    memory.entities.upsert("company", "Acme")
    memory.entities.relate(("person", "Alice"), ("company", "Acme"), "works at")
    moment = memory.state.set("clock", 1).updated_at.isoformat()
    memory.entities.unrelate(("person", "Alice"), ("company", "Acme"), "works at")
    memory.entities.upsert("person", "Alice", facts={"age": 42})
    assert "No relations" in mnemic("entities", "graph").out
    for arguments in ((), ("person", "alice")):
        shown = mnemic("entities", "graph", *arguments, "--as-of", moment)
        assert shown.out == "Alice → works at → Acme\n"
    assert len(mnemic("entities", "graph", "--as-of", moment, "--json").json["relations"]) == 1
    assert mnemic("entities", "get", "person", "Alice", "--as-of", moment, "--json").json["facts"] == {
        "age": 41
    }
    refused = mnemic("entities", "graph", "person")
    assert (refused.code, "its category and its name" in refused.err) == (1, True)


def test_conversations_are_listed_and_shown(mnemic: Run, memory: Memory) -> None:
    said = [
        {"role": "user", "content": "Hello [b]you[/b]", "at": "2026-03-01T10:00:00Z"},
        {"role": "assistant", "name": "Mo", "content": "Hi", "at": "2026-03-01T10:01:00Z"},
    ]
    memory.retain(said, conversation="c-1")
    memory.retain("Later.", conversation="c-2", channel="work")
    assert [each["conversation"] for each in mnemic("conversations", "list", "--json").json] == ["c-2", "c-1"]
    work = mnemic("conversations", "list", "--json", "--channel", "work").json
    assert [each["conversation"] for each in work] == ["c-2"]
    assert "2026-03-01 10:01" in mnemic("conversations", "list").out
    turns = mnemic("conversations", "show", "c-1", "--json").json
    assert [turn["content"] for turn in turns] == ["Hello [b]you[/b]", "Hi"]
    assert len(mnemic("conversations", "show", "c-1", "--from", 1, "--json").json) == 1
    shown = mnemic("conversations", "show", "c-1").out.splitlines()
    assert shown[1].split() == ["0", "2026-03-01", "10:00", "user", "Hello", "[b]you[/b]"]
    assert shown[2].split() == ["1", "2026-03-01", "10:01", "Mo", "Hi"]
    missing = mnemic("conversations", "show", "c-3")
    assert (missing.code, missing.out) == (1, "")


def test_an_entity_is_created_and_added_to(mnemic: Run, memory: Memory) -> None:
    made = mnemic(
        "entities", "upsert", "person", "Alice", "--fact", "likes=tea", "--alias", "Al", "--json"
    ).json
    assert (made["name"], made["facts"], made["aliases"]) == ("Alice", {"likes": "tea"}, ["Al"])
    shown = mnemic("entities", "upsert", "person", "Alice", "--fact", "likes=a=b", "--facts", '{"age": 42}')
    assert (shown.code, "a=b" in shown.out, "42" in shown.out) == (0, True, True)
    entity = memory.entities.get("person", "Alice")
    assert (entity.facts, entity.aliases) == ({"likes": "a=b", "age": 42}, ("Al",))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fact", "likes"), "--fact must be NAME=TEXT, such as likes=tea, not 'likes'."),
        (("--fact", "=tea"), "--fact must be NAME=TEXT"),
        (("--facts", "[1]"), "--facts must be a JSON object"),
        (("--facts", "{"), "--facts must be JSON"),
    ],
)
def test_facts_that_cannot_be_read_are_an_error(mnemic: Run, options: tuple[str, ...], message: str) -> None:
    ended = mnemic("entities", "upsert", "person", "Alice", *options)
    assert (ended.code, ended.out, message in ended.said) == (1, "", True)
