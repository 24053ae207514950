"""Background learning leaves branches alone until they are merged."""

import pytest

from mnemic.sdk.memory import AsyncMemory

TURN = {"role": "user", "content": "I live in Oslo and I work at Acme."}


@pytest.mark.usefixtures("no_comparisons")
async def test_consolidation_learns_from_a_branch_after_it_was_merged(memory: AsyncMemory) -> None:
    await memory.channels.fork("what-if")
    await memory.retain(TURN, conversation="talks", channel="what-if")
    await memory.retain("I am allergic to nuts.", channel="what-if", source="user_provided")
    await memory.consolidate()
    assert await memory.memories.list() == []
    assert await memory.triples.list() == []
    assert await memory.entities.list() == []
    assert len(await memory.memories.list(channel="what-if")) == 2
    await memory.channels.merge("what-if")
    await memory.consolidate()
    extracted = [each for each in await memory.memories.list() if each.source == "extracted"]
    assert extracted
    assert {each.channel for each in extracted} == {"_global"}


async def test_the_curator_proposes_nothing_about_branches(memory: AsyncMemory) -> None:
    await memory.channels.fork("what-if")
    for text in ("The office is in Rome.", "The office is in Oslo."):
        await memory.retain(text, channel="what-if")
    await memory.memories.near_duplicates()
    proposed = await memory.curation.propose()
    assert proposed.changes == ()
