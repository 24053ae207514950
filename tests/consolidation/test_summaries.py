"""Summaries of conversations are memories, rest on their turns, and are renewed."""

from mnemic.sdk.memory import AsyncMemory
from mnemic.text_analysis.summary import SUMMARY_MAX_CHARACTERS, Said, summarise

TURNS = (
    "We want to repaint the kitchen of the cottage in May.",
    "The kitchen needs two coats of green paint from Farrow.",
    "Thanks, that is good.",
    "The painter Lucas asks 900 euros for painting the kitchen.",
    "Okay.",
    "Lucas will start painting the cottage kitchen on 4 May.",
)


async def talk(memory: AsyncMemory, *texts: str) -> None:
    await memory.retain([{"role": "user", "content": text} for text in texts], conversation="c")


async def test_a_conversation_gets_a_summary_that_rests_on_its_turns(memory: AsyncMemory) -> None:
    await talk(memory, *TURNS)
    assert (await memory.consolidate()).summary_count == 1
    (summary,) = await memory.memories.list(tags=["summary"])
    assert "Lucas" in summary.content
    assert "Thanks" not in summary.content
    assert (summary.source, summary.category, summary.conversation) == ("inferred", "episodic", None)
    turns = {turn.memory_id: turn.content for turn in await memory.conversations.turns("c")}
    why = await memory.memories.why(summary.memory_id)
    assert why.sources
    assert all(source.quotation in turns[source.memory_id] for source in why.sources if source.quotation)


async def test_a_short_conversation_gets_none(memory: AsyncMemory) -> None:
    await talk(memory, *TURNS[:3])
    assert (await memory.consolidate()).summary_count == 0


async def test_a_conversation_that_grew_gets_a_new_one(memory: AsyncMemory) -> None:
    await talk(memory, *TURNS)
    await memory.consolidate()
    (old,) = await memory.memories.list(tags=["summary"])
    await talk(memory, "One more word.")
    assert (await memory.consolidate()).summary_count == 0
    await talk(memory, *(f"The garden shed needs {count} new windows and a roof." for count in (7, 8, 9)))
    assert (await memory.consolidate()).summary_count == 1
    (new,) = await memory.memories.list(tags=["summary"])
    assert "shed" in new.content
    retired = await memory.memories.get(old.memory_id)
    assert (retired.status, retired.superseded_by) == ("superseded", new.memory_id)


async def test_forgetting_a_turn_forgets_the_summary_that_quotes_it(memory: AsyncMemory) -> None:
    await talk(memory, *TURNS)
    await memory.consolidate()
    (summary,) = await memory.memories.list(tags=["summary"])
    why = await memory.memories.why(summary.memory_id)
    await memory.memories.forget(why.sources[0].memory_id)
    assert await memory.memories.list(tags=["summary"]) == []
    assert (await memory.consolidate()).summary_count == 1
    (new,) = await memory.memories.list(tags=["summary"])
    assert why.sources[0].content not in new.content


def test_a_summary_is_short_and_does_not_repeat_itself() -> None:
    text = "The harbour festival begins on Saturday with a concert by the river. "
    turns = [
        Said(index, "user", text * 20 + f"The boat number {index} sails north.", True) for index in range(90)
    ]
    chosen = summarise(turns)
    assert sum(len(sentence.text) for sentence in chosen) <= SUMMARY_MAX_CHARACTERS
    assert sum("festival" in sentence.text for sentence in chosen) <= 2
    assert [sentence.index for sentence in chosen] == sorted(sentence.index for sentence in chosen)
    assert summarise([]) == []
