"""Consolidation reads what is new, once, and keeps what was learnt."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from mnemic.sdk.memory import AsyncMemory
from mnemic.types.consolidated import Consolidated
from tests.extraction.facts_model import Document, FactsModel, fact
from tests.fresh_tenants import OpenMemory, Rows

AT = datetime(2026, 3, 1, tzinfo=UTC)
NOTHING = Consolidated()


async def talk(memory: AsyncMemory, *texts: str, conversation: str = "c", role: str = "user") -> None:
    await memory.retain([{"role": role, "content": text} for text in texts], conversation=conversation)


async def known(memory: AsyncMemory, owner: str | None = None) -> Sequence[str]:
    return sorted(each.statement for each in await memory.statements.list(owner=owner))


async def test_turns_notes_and_documents_are_learnt_from(memory: AsyncMemory) -> None:
    await talk(memory, "I live in Oslo.", "I'm allergic to peanuts.")
    await talk(memory, "You live in Bergen, don't you? I like chess.", role="assistant")
    await memory.retain("Alice works at Acme.")
    await memory.retain("I love the Alps. I live in Rome.", category="reference", source="imported")
    learnt = await memory.consolidate()
    assert await known(memory) == [
        "Alice works at Acme.",
        "The user is allergic to peanuts.",
        "The user lives in Oslo.",
    ]
    assert (learnt.source_count, learnt.statement_count, learnt.conversation_count) == (5, 3, 1)


async def test_running_it_again_stores_nothing(memory: AsyncMemory, rows: Rows) -> None:
    await talk(
        memory,
        *(f"I live in {city}. I love tea." for city in ("Oslo", "Bath", "Rome", "Kyiv", "Bonn", "Ulm")),
    )
    await memory.retain(["Alice works at Acme.", "The sky is blue."])
    first = await memory.consolidate()
    assert first.summary_count == 1
    count = "SELECT count(*) FROM state.memories WHERE tenant_id = %s"
    before = rows.select(count, memory.tenant.id)
    assert await memory.consolidate() == NOTHING
    assert rows.select(count, memory.tenant.id) == before


async def test_only_new_turns_are_read(memory: AsyncMemory) -> None:
    await talk(memory, "I live in Oslo.")
    await memory.consolidate()
    await talk(memory, "I moved to Bath.")
    learnt = await memory.consolidate()
    assert (learnt.source_count, learnt.superseded_count) == (1, 1)
    assert await known(memory) == ["The user lives in Bath."]


async def test_many_turns_are_read_in_batches(memory: AsyncMemory) -> None:
    await talk(memory, *(f"I love number {place}." for place in range(150)))
    seen: list[int] = []
    learnt = await memory.consolidate(progress=seen.append)
    assert (learnt.source_count, learnt.statement_count) == (150, 150)
    assert seen == sorted(seen)
    assert len(seen) > 2
    assert seen[-1] == 150


async def test_a_model_is_asked_once_for_20_turns_of_several_conversations(open_memory: OpenMemory) -> None:
    def reply(document: Document) -> list[dict[str, Any]]:
        return [fact(each["number"], each["text"]) for each in document["turns"]]

    model = FactsModel(reply)
    memory = await open_memory(llm=model, settings={"extractor": "llm"})
    for number in range(10):
        texts = [f"I live in Town{number}x{place}" for place in range(4)]
        await talk(memory, *texts, conversation=f"c{number}")
    learnt = await memory.consolidate()
    assert (learnt.conversation_count, learnt.source_count) == (10, 40)
    assert [len(document["turns"]) for document in model.documents] == [20, 20]
    for document in model.documents:
        assert [each["conversation"] for each in document["turns"]] == [1 + place // 4 for place in range(20)]
    assert await memory.consolidate() == NOTHING
    assert len(model.documents) == 2


async def test_calls_of_a_model_are_full_whatever_the_conversations(open_memory: OpenMemory) -> None:
    model = FactsModel([])
    memory = await open_memory(llm=model, settings={"extractor": "llm"})
    for number, turn_count in enumerate((30, 50, 70, 9, 41)):
        texts = [f"Nothing {number}-{turn} is new." for turn in range(turn_count)]
        await talk(memory, *texts, conversation=f"talk-{number}")
    learnt = await memory.consolidate()
    assert (learnt.source_count, learnt.conversation_count, learnt.summary_count) == (200, 5, 5)
    assert [len(document["turns"]) for document in model.documents] == [20] * 10
    assert await memory.consolidate() == NOTHING


async def test_owners_and_channels_are_not_read_together(open_memory: OpenMemory) -> None:
    model = FactsModel([])
    memory = await open_memory(llm=model, settings={"extractor": "llm"})
    for owner, channel in (("ana", "a"), ("ana", "b"), ("ben", "a")):
        turn = {"role": "user", "content": f"I live in {owner}{channel}"}
        await memory.retain(turn, conversation=f"{owner}{channel}", owner=owner, channel=channel)
    for owner in ("ana", "ben"):
        await memory.consolidate(owner=owner)
    assert [[each["text"] for each in document["turns"]] for document in model.documents] == [
        ["I live in anaa"],
        ["I live in anab"],
        ["I live in bena"],
    ]


async def test_several_workers_at_once_store_everything_once(memory: AsyncMemory, rows: Rows) -> None:
    for conversation in "abc":
        await talk(
            memory, *(f"I love {conversation}{place}." for place in range(70)), conversation=conversation
        )
    learnt = await asyncio.gather(*(memory.consolidate() for _ in range(4)))
    assert sum(each.statement_count for each in learnt) == 210
    statements = "SELECT count(*) FROM state.statements WHERE tenant_id = %s"
    assert rows.select(statements, memory.tenant.id) == [(210,)]
    assert len(await memory.memories.list(tags=["summary"])) == 3


async def test_workers_whose_batches_overlap_leave_no_turn_unread(memory: AsyncMemory, rows: Rows) -> None:
    turn_counts = {"a": 30, "b": 50, "c": 70, "d": 9, "e": 41}
    for conversation, count in turn_counts.items():
        texts = [f"I love {conversation}{place}." for place in range(count)]
        await talk(memory, *texts, conversation=conversation)
    learnt = await asyncio.gather(
        memory.consolidate(), *(memory.consolidate(conversation=each) for each in "edcb")
    )
    assert sum(each.statement_count for each in learnt) == sum(turn_counts.values())
    read = "SELECT count(*) FROM state.extraction_runs WHERE tenant_id = %s"
    assert rows.select(read, memory.tenant.id) == [(sum(turn_counts.values()),)]
    assert await memory.consolidate() == NOTHING


async def test_one_conversation_or_one_owner(memory: AsyncMemory) -> None:
    await talk(memory, "I live in Oslo.", conversation="a")
    await talk(memory, "I love tea.", conversation="b")
    await memory.retain("I love jazz.", role="user", conversation="a", owner="bob")
    await memory.consolidate(conversation="b")
    assert await known(memory) == ["The user likes tea."]
    await memory.consolidate(owner="bob")
    assert await known(memory, "bob") == ["The user likes jazz."]
    assert await known(memory) == ["The user likes tea."]


async def test_the_job_learns_for_all_owners(memory: AsyncMemory) -> None:
    await talk(memory, "I live in Oslo.")
    await memory.retain("I love jazz.", role="user", conversation="a", owner="bob")
    job = await memory.jobs.enqueue("mind.consolidate")
    working = asyncio.create_task(memory.jobs.work())
    finished = await memory.jobs.wait(job.job_id)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    assert (finished.state, finished.result["statement_count"]) == ("done", 2)
    assert await known(memory, "bob") == ["The user likes jazz."]


async def test_channels_are_kept_apart(memory: AsyncMemory) -> None:
    await memory.retain("I live in Oslo.", role="user", conversation="a", channel="work")
    await memory.retain("I live in Bath.", role="user", conversation="b", channel="home")
    await memory.consolidate()
    places = {each.channel: each.value for each in await memory.statements.list()}
    assert places == {"work": "Oslo", "home": "Bath"}


async def test_a_policy_of_the_channel_and_the_tenant_holds(open_memory: OpenMemory) -> None:
    memory = await open_memory(owner=None)
    await memory.statements.set_policy("prefer_old")
    await memory.statements.set_policy("flag_review", channel="strict")
    alice = memory.scope(owner="alice")
    for channel, cities in (("strict", ("Oslo", "Bath")), ("other", ("Rome", "Bonn"))):
        for city in cities:
            await alice.retain(f"I live in {city}.", role="user", conversation=channel, channel=channel)
            await alice.consolidate()
    found = {(each.channel, each.value): each.status for each in await alice.statements.list(status=None)}
    assert found == {
        ("strict", "Oslo"): "active",
        ("strict", "Bath"): "pending_review",
        ("other", "Rome"): "active",
        ("other", "Bonn"): "superseded",
    }


async def test_a_tenant_declares_attributes(open_memory: OpenMemory) -> None:
    memory = await open_memory(owner=None)
    await memory.statements.set_attribute("plays", is_single_valued=True)
    alice = memory.scope(owner="alice")
    for instrument in ("cello", "flute"):
        await talk(alice, f"I play the {instrument}.")
        await alice.consolidate()
    assert await known(alice) == ["The user plays the flute."]
    assert [each.attribute for each in await memory.statements.attributes()] == ["plays"]
    assert await memory.statements.remove_attribute("plays")


async def test_an_anchored_note_decides_about_claims_of_the_same_pass(memory: AsyncMemory) -> None:
    await memory.retain("The user lives in Oslo.", anchored=True)
    await talk(memory, "I live in Bath.")
    await memory.consolidate()
    assert await known(memory) == ["The user lives in Oslo."]


async def test_recalled_text_is_not_learnt_again(memory: AsyncMemory) -> None:
    await talk(memory, "I live in Oslo.")
    await memory.consolidate()
    recalled = (await memory.recall("Where does the user live?")).text
    await talk(memory, recalled, f"You told me:\n{recalled}", "The user lives in Oslo.")
    await talk(memory, recalled, "You live in Oslo.", "The user lives in Oslo.", role="assistant")
    learnt = await memory.consolidate()
    assert (learnt.statement_count, learnt.repeated_count) == (0, 0)


async def test_the_lag_is_in_the_metrics(memory: AsyncMemory) -> None:
    assert (await memory.metrics.overview()).consolidation.oldest_unread_s is None
    await talk(memory, "I live in Oslo.", "I love tea.")
    lag = (await memory.metrics.overview()).consolidation
    assert lag.unread_turn_count == 2
    assert lag.oldest_unread_s is not None
    await memory.consolidate()
    assert (await memory.metrics.overview()).consolidation.unread_turn_count == 0


async def test_why_leads_from_a_statement_to_its_turn(memory: AsyncMemory) -> None:
    await talk(memory, "Hello!", "I live in Oslo, near the harbour.")
    await memory.consolidate()
    (statement,) = await memory.statements.list()
    why = await memory.memories.why(statement.memory_id)
    assert [source.quotation for source in why.sources] == ["I live in Oslo, near the harbour."]


async def test_the_profile_uses_current_statements(memory: AsyncMemory) -> None:
    await talk(memory, "I live in Bath.", "I live in Oslo.")
    await memory.consolidate()
    lines = [line.content for line in (await memory.profile()).section("identity")]
    assert "The user lives in Oslo." in lines
    assert "The user lives in Bath." not in lines
