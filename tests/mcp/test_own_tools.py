"""Mnemic's own tools do what their descriptions promise, and say clearly what does not work."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from mcp import MCPError

from mnemic.mcp.server import INSTRUCTIONS
from mnemic.mcp.size_limits import RESULT_MAX_CHARACTERS, json_size
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import OpenMemory
from tests.mcp.conftest import Connect, called, refused, text_of
from tests.opened import core_of
from tests.unsteady_engine import Unsteady

MIND = ["get_goals", "set_goal", "find_strategies", "learn_strategy", "get_working", "set_working"]
OWN = ["retain", "recall", "query_archive", "forget", "get_entity", "why", "give_feedback", *MIND]
BERLIN = "Alice moved to Berlin in March."


async def test_every_tool_is_described_for_a_model(connect: Connect) -> None:
    async with connect() as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == OWN
    for tool in tools:
        assert tool.description is not None
        assert len(tool.description) > 200, tool.name
        assert tool.output_schema is not None
        assert tool.input_schema["additionalProperties"] is False
        properties = tool.input_schema["properties"]
        assert [name for name, schema in properties.items() if not schema.get("description")] == []


async def test_hints_say_what_reads_and_what_destroys(connect: Connect) -> None:
    async with connect() as client:
        tools = (await client.list_tools()).tools
    hints = {tool.name: tool.annotations for tool in tools}
    assert all(hint is not None for hint in hints.values())
    reading = {name for name, hint in hints.items() if hint and hint.read_only_hint}
    destroying = {name for name, hint in hints.items() if hint and hint.destructive_hint}
    assert reading == {"recall", "query_archive", "get_entity", "why", *MIND[::2]}
    assert destroying == {"forget"}


async def test_a_retained_memory_is_recalled(connect: Connect, memory: AsyncMemory) -> None:
    async with connect() as client:
        stored = await called(
            client, "retain", content=BERLIN, tags=["home"], category="episodic", at="2026-03-01T10:00:00Z"
        )
        found = await called(client, "recall", query="Where did Alice move?", tags=["home"])
    record = await memory.memories.get(stored["memory_id"])
    assert (stored["outcome"], record.content, record.category) == ("stored", BERLIN, "episodic")
    assert record.at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert [hit["memory_id"] for hit in found["memories"]] == [stored["memory_id"]]
    assert found["memories"][0] | {"score": 0} == {
        "memory_id": stored["memory_id"],
        "content": BERLIN,
        "when": "2026-03-01T10:00:00+00:00",
        "who": None,
        "document": None,
        "score": 0,
        "category": "episodic",
        "tags": ["home"],
        "conversation": None,
        "shared_by": None,
    }


async def test_feedback_on_a_recalled_memory_counts_once(connect: Connect, memory: AsyncMemory) -> None:
    (memory_id,) = (await memory.retain(BERLIN)).memory_ids
    async with connect() as client:
        for _ in range(2):
            given = await called(
                client, "give_feedback", memory_id=str(memory_id), cited=True, conversation="today"
            )
        assert given == {"memory_id": str(memory_id), "usefulness": pytest.approx(0.6)}
        await refused(client, "give_feedback", memory_id=str(uuid4()))
        await refused(client, "give_feedback", memory_id=str(memory_id), useful=False, cited=True)
    (stored,) = await memory.memories.list_feedback()
    assert (stored.kind, stored.conversation) == ("cited", "today")


async def test_a_bare_date_is_midnight_utc(connect: Connect, memory: AsyncMemory) -> None:
    async with connect() as client:
        stored = await called(client, "retain", content=BERLIN, at="2026-03-01")
        found = await called(client, "recall", query="Alice Berlin", since="2026-03-01", until="2026-03-02")
        earlier = await called(client, "recall", query="Alice Berlin", until="2026-03-01")
    assert (await memory.memories.get(stored["memory_id"])).at == datetime(2026, 3, 1, tzinfo=UTC)
    assert [hit["memory_id"] for hit in found["memories"]] == [stored["memory_id"]]
    assert earlier["memories"] == []


async def test_the_text_of_recall_has_date_content_and_id(connect: Connect, memory: AsyncMemory) -> None:
    retained = await memory.retain({"role": "user", "name": "Alice", "content": BERLIN})
    async with connect() as client:
        text = text_of(await client.call_tool("recall", {"query": "Alice Berlin"}))
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    assert text.startswith(f"- [{day}] Alice: {BERLIN} (id {retained.memory_ids[0]}, score ")


async def test_the_same_text_is_not_stored_twice(connect: Connect) -> None:
    async with connect() as client:
        first = await called(client, "retain", content=BERLIN)
        again = await called(client, "retain", content=BERLIN)
    assert again == {"memory_id": first["memory_id"], "outcome": "known already", "replaced": None}


async def test_a_correction_supersedes_the_old_memory(connect: Connect, memory: AsyncMemory) -> None:
    async with connect() as client:
        old = await called(client, "retain", content=BERLIN)
        new = await called(
            client, "retain", content="Alice moved to Bern in March.", replaces=old["memory_id"]
        )
        found = await called(client, "recall", query="Where did Alice move in March?")
    assert (new["outcome"], new["replaced"]) == ("replaced", old["memory_id"])
    assert [hit["content"] for hit in found["memories"]] == ["Alice moved to Bern in March."]
    assert (await memory.memories.get(old["memory_id"])).status == "superseded"


async def test_recall_refuses_if_nothing_is_close_enough(connect: Connect) -> None:
    async with connect() as client:
        await called(client, "retain", content=BERLIN)
        result = await client.call_tool("recall", {"query": "quantum chromodynamics lattice"})
    assert not result.is_error
    assert result.structured_content["refused"] is True
    assert result.structured_content["memories"] == []
    assert result.structured_content["outcome"] == "refused"
    assert text_of(result).startswith(f"Nothing found. {result.structured_content['reason']} Try other words")


async def test_weak_memories_are_marked(connect: Connect, open_memory: OpenMemory) -> None:
    memory = await open_memory(settings={"refuse_below": 0})
    await memory.retain(BERLIN)
    marked = "These memories may not answer the question (confidence 0."
    asked = {"recall": "query", "query_archive": "question"}
    async with connect(to=memory) as client:
        for tool, argument in asked.items():
            result = await client.call_tool(tool, {argument: "quantum chromodynamics lattice"})
            answer = result.structured_content
            assert (answer["outcome"], answer["refused"]) == ("weak", False)
            first, *_, last = text_of(result).splitlines()
            assert first.startswith(marked)
            assert BERLIN in last
            sure = await client.call_tool(tool, {argument: "Where did Alice move in March?"})
            assert sure.structured_content["outcome"] == "found"
            assert marked not in text_of(sure)


async def test_agents_are_told_to_neither_deny_nor_assert_what_is_weak(connect: Connect) -> None:
    async with connect() as client:
        tools = {tool.name: tool.description or "" for tool in (await client.list_tools()).tools}
    for text in (INSTRUCTIONS, tools["recall"], tools["query_archive"]):
        assert "weak" in text
        assert "may not answer the question" in text
        assert "other words" in text
        assert "nothing is known: say so" not in text


async def test_memories_name_their_document(connect: Connect, memory: AsyncMemory) -> None:
    await memory.documents.put("guide.md", "The boiler shows E55.")
    await memory.retain({"role": "user", "name": "Alice", "content": "The boiler shows E56."})
    async with connect() as client:
        found = await called(client, "recall", query="boiler", document="guide.md")
        said = await called(client, "recall", query="boiler", name="Alice", role="user")
        none = await called(client, "recall", query="boiler", metadata={"document": "other.md"})
        text = text_of(await client.call_tool("query_archive", {"question": "What does the boiler show?"}))
    assert [(hit["content"], hit["document"]) for hit in found["memories"]] == [
        ("The boiler shows E55.", "guide.md")
    ]
    assert [hit["who"] for hit in said["memories"]] == ["Alice"]
    assert none["refused"]
    assert " guide.md: The boiler shows E55. (memory " in text


async def test_filters_limit_a_recall(connect: Connect, memory: AsyncMemory) -> None:
    await memory.retain("Berlin is large.", category="factual", at="2025-01-01T00:00:00Z")
    await memory.retain("Berlin is liked.", category="preference", at="2026-01-01T00:00:00Z")
    await memory.retain({"role": "user", "content": "Berlin it is."}, conversation="c-1")
    async with connect() as client:
        liked = await called(client, "recall", query="Berlin", categories=["preference"])
        late = await called(client, "recall", query="Berlin", since="2025-06-01T00:00:00Z")
        early = await called(client, "recall", query="Berlin", until="2025-06-01T00:00:00Z")
        said = await called(client, "recall", query="Berlin", conversation="c-1")
        one = await called(client, "recall", query="Berlin", limit=1)
        before = await called(client, "recall", query="Berlin", as_of="2020-01-01T00:00:00Z")
    contents = [sorted(hit["content"] for hit in found["memories"]) for found in (liked, late, early, said)]
    assert contents == [
        ["Berlin is liked."],
        ["Berlin is liked.", "Berlin it is."],
        ["Berlin is large."],
        ["Berlin it is."],
    ]
    assert len(one["memories"]) == 1
    assert before["refused"]


async def test_the_archive_answers_with_passages_to_cite(connect: Connect) -> None:
    async with connect() as client:
        stored = await called(client, "retain", content=BERLIN, at="2026-03-01T10:00:00Z")
        result = await client.call_tool("query_archive", {"question": "Where did Alice move in March?"})
    answer = result.structured_content
    assert not answer["refused"]
    assert 0.5 <= answer["confidence"] <= 1
    assert answer["passages"] == [
        {
            "citation": 1,
            "memory_id": stored["memory_id"],
            "text": BERLIN,
            "when": "2026-03-01T10:00:00+00:00",
            "who": None,
            "document": None,
            "shared_by": None,
        }
    ]
    assert f"[1] 2026-03-01 {BERLIN} (memory {stored['memory_id']})" in text_of(result)


async def test_the_archive_refuses_if_nothing_is_on_record(connect: Connect) -> None:
    async with connect() as client:
        await called(client, "retain", content=BERLIN)
        result = await client.call_tool(
            "query_archive", {"question": "What does lattice chromodynamics say?"}
        )
    assert result.structured_content["refused"] is True
    assert result.structured_content["passages"] == []
    assert text_of(result).startswith("Nothing found. ")


async def test_a_forgotten_memory_is_not_recalled(connect: Connect, memory: AsyncMemory) -> None:
    async with connect() as client:
        stored = await called(client, "retain", content=BERLIN)
        forgotten = await called(client, "forget", memory_id=stored["memory_id"], reason="It was a joke.")
        found = await called(client, "recall", query="Where did Alice move in March?")
        again = await called(client, "forget", memory_id=stored["memory_id"])
    assert forgotten == again == {"memory_id": stored["memory_id"], "content": BERLIN}
    assert found["refused"]
    versions = await memory.memories.history(stored["memory_id"])
    assert "It was a joke." in [version.change_reason for version in versions]


async def test_a_memory_is_explained_by_the_turn_that_it_rests_on(
    connect: Connect, memory: AsyncMemory
) -> None:
    (turn,) = (
        await memory.retain(
            {"role": "user", "name": "Alice", "content": "I moved to Berlin."},
            conversation="c-1",
            at="2026-03-01",
        )
    ).memory_ids
    (fact,) = (await memory.retain(BERLIN, provenance="reasoned")).memory_ids
    await memory.memories.relate(fact, turn, "derived_from")
    async with connect() as client:
        why = await called(client, "why", memory_id=str(fact))
        assert "There is no memory" in await refused(client, "why", memory_id=str(uuid4()))
    assert (why["status"], why["provenance"], why["confidence"]) == ("active", "reasoned", 1)
    assert why["sources"] == [
        {
            "memory_id": str(turn),
            "words": "I moved to Berlin.",
            "who": "Alice",
            "conversation": "c-1",
            "when": "2026-03-01T00:00:00+00:00",
        }
    ]
    assert "It rests on:" in why["explanation"]


async def test_an_entity_is_shown_with_facts_relations_and_mentions(
    connect: Connect, memory: AsyncMemory
) -> None:
    alice = await memory.entities.upsert("person", "Alice", facts={"city": "Berlin"}, aliases=["Ali"])
    acme = await memory.entities.upsert("company", "Acme")
    await memory.entities.relate(alice, acme, "works at")
    retained = await memory.retain(BERLIN)
    hidden = await memory.retain("Alice was never here.")
    await memory.memories.forget(hidden.memory_ids[0])
    async with connect() as client:
        result = await client.call_tool("get_entity", {"name": "ali"})
    (card,) = result.structured_content["entities"]
    assert (card["name"], card["category"], card["aliases"]) == ("Alice", "person", ["Ali"])
    assert card["facts"] == {"city": "Berlin"}
    assert card["relations"] == [{"from_name": "Alice", "kind": "works at", "to_name": "Acme"}]
    assert [mention["memory_id"] for mention in card["mentions"]] == [str(retained.memory_ids[0])]
    assert "Alice (person, also called Ali)\n- city: Berlin\n- Alice → works at → Acme\n" in text_of(result)


async def test_all_entities_with_a_name_are_shown_unless_a_category_is_given(
    connect: Connect, memory: AsyncMemory
) -> None:
    await memory.entities.upsert("planet", "Mercury")
    await memory.entities.upsert("metal", "Mercury")
    async with connect() as client:
        both = await called(client, "get_entity", name="Mercury")
        one = await called(client, "get_entity", name="Mercury", category="metal")
    assert sorted(card["category"] for card in both["entities"]) == ["metal", "planet"]
    assert [card["category"] for card in one["entities"]] == ["metal"]


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("retain", {}, "content: Field required"),
        ("retain", {"content": ""}, "content: String should have at least 1 character"),
        ("retain", {"content": " "}, "content must not be empty"),
        ("retain", {"content": "x", "category": "gossip"}, "category: Input should be 'factual'"),
        ("retain", {"content": "x", "at": "yesterday"}, "at must be a date"),
        ("retain", {"content": "x", "colour": "red"}, "colour: Extra inputs are not permitted"),
        ("retain", {"content": "x\0y"}, "must not contain NUL"),
        ("recall", {"query": "x", "limit": 0}, "limit: Input should be greater than or equal to 1"),
        ("recall", {"query": "x", "limit": 51}, "limit: Input should be less than or equal to 50"),
        ("recall", {"query": "x" * 4001}, "query: String should have at most 4000 characters"),
        ("recall", {"query": "x", "since": "2026-01-01T00:00:00"}, "since has no time zone"),
        ("query_archive", {"question": ["x"]}, "question: Input should be a valid string"),
        ("forget", {"memory_id": "the last one"}, "memory_id: String should have at least 36 characters"),
        ("forget", {"memory_id": "x" * 36}, "memory_id must be an id as Mnemic gives them"),
        ("get_entity", {"name": "x" * 257}, "name: String should have at most 256 characters"),
    ],
)
async def test_the_error_names_each_invalid_argument(
    connect: Connect, tool: str, arguments: dict[str, object], complaint: str
) -> None:
    async with connect() as client:
        message = await refused(client, tool, **arguments)
    assert complaint in message
    assert "call again." in message


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("forget", {"memory_id": str(uuid4())}),
        ("retain", {"content": "x", "replaces": str(uuid4())}),
        ("get_entity", {"name": "Nobody"}),
    ],
)
async def test_an_unknown_id_is_an_error_with_advice(
    connect: Connect, tool: str, arguments: dict[str, object]
) -> None:
    async with connect() as client:
        assert "Look it up with recall first" in await refused(client, tool, **arguments)


async def test_an_unknown_tool_is_an_error_of_the_protocol(connect: Connect) -> None:
    async with connect() as client:
        with pytest.raises(MCPError, match="Unknown tool: rm"):
            await client.call_tool("rm", {})


async def test_compatible_tools_are_listed_only_on_request(connect: Connect) -> None:
    async with connect() as client:
        for name in ("read_graph", "search"):
            with pytest.raises(MCPError, match="Unknown tool"):
                await client.call_tool(name, {"query": "x"} if name == "search" else {})


async def test_a_result_is_bounded_and_says_what_it_leaves_out(connect: Connect, memory: AsyncMemory) -> None:
    await memory.retain([f'Berlin {number} "{"quoted " * 1000}"' for number in range(20)])
    async with connect() as client:
        result = await client.call_tool("recall", {"query": "Berlin quoted", "limit": 20})
        archived = await client.call_tool("query_archive", {"question": "Berlin quoted?", "limit": 20})
    answer = result.structured_content
    assert 1 <= len(answer["memories"]) < 20
    assert answer["left_out_count"] == 20 - len(answer["memories"])
    assert f"{answer['left_out_count']} more did not fit" in text_of(result)
    for bounded in (result, archived):
        assert len(text_of(bounded)) <= RESULT_MAX_CHARACTERS
        assert 7000 <= json_size(bounded.structured_content) <= RESULT_MAX_CHARACTERS


async def test_the_result_for_a_large_entity_is_bounded(connect: Connect, memory: AsyncMemory) -> None:
    facts = {f"fact {number}": "\n" * 2000 for number in range(200)}
    aliases = [f"{'h' * 250} {number}" for number in range(60)]
    hub = await memory.entities.upsert("person", "Hub", facts=facts, aliases=aliases)
    for number in range(60):
        other = await memory.entities.upsert("person", f"{number} {'o' * 240}")
        await memory.entities.relate(hub, other, "k" * 250)
    async with connect() as client:
        result = await client.call_tool("get_entity", {"name": "Hub"})
    (card,) = result.structured_content["entities"]
    assert card["facts"]
    assert card["relations"]
    assert json_size(result.structured_content) <= RESULT_MAX_CHARACTERS
    assert len(text_of(result)) <= RESULT_MAX_CHARACTERS


async def test_the_archive_is_offered_only_while_the_embedder_works(
    connect: Connect, open_memory: OpenMemory
) -> None:
    engine = Unsteady(failing=True)
    memory = await open_memory(embedder=engine)
    await memory.retain(BERLIN)
    async with connect(to=memory) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        message = await refused(client, "query_archive", question="Where did Alice move?")
        found = await called(client, "recall", query="Where did Alice move in March to Berlin?")
    assert names == ["retain", "recall", "forget", "get_entity", "why", "give_feedback", *MIND]
    assert "Use recall, which also searches by words" in message
    assert [hit["content"] for hit in found["memories"]] == [BERLIN]
    assert "vector was left out" in found["notes"][0]
    engine.failing = False
    async with connect(to=memory) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == OWN
        assert not (await called(client, "query_archive", question="Where did Alice move?"))["refused"]


async def test_a_probe_of_the_embedder_is_not_counted_as_recall(
    connect: Connect, memory: AsyncMemory
) -> None:
    retained = await memory.retain("probe")
    async with connect() as client:
        await client.list_tools()
    assert await core_of(memory).write_recalled_counts() == 0
    assert (await memory.recall("probe"))[0].memory.memory_id == retained.memory_ids[0]
    assert await core_of(memory).write_recalled_counts() == 1


async def test_an_internal_error_does_not_reveal_its_cause(
    connect: Connect, memory: AsyncMemory, caplog: pytest.LogCaptureFixture
) -> None:
    async with connect() as client:
        await client.list_tools()
        core_of(memory)._storage = None
        closed = await refused(client, "recall", query="Berlin")
        core_of(memory)._storage = "not a place"  # type: ignore[assignment]
        broken = await refused(client, "recall", query="Berlin")
    assert closed.endswith("Tell the user.")
    incident = broken.partition("under ")[2].partition(".")[0]
    assert broken == f"This call failed; the log of Mnemic has the cause under {incident}. Tell the user."
    assert incident in caplog.text
    assert "AttributeError" in caplog.text
