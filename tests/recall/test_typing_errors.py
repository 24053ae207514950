"""Queries with typing errors find what was meant, and say how they were read."""

import pytest

from mnemic.recall.candidates import query_terms
from mnemic.recall.candidates.query_terms import STATISTICS_MIN_MEMORIES
from mnemic.recall.index_maintenance import refresh_word_statistics
from mnemic.sdk.memory import AsyncMemory
from tests.accepted_grants import accepted_grant
from tests.opened import core_of

SUPERVISOR = "Ifeoma is the supervisor of the night shift"


async def test_a_misspelt_word_finds_the_right_one_and_is_explained(memory: AsyncMemory) -> None:
    await memory.retain([SUPERVISOR, "The boiler shows error E55"])
    found = await memory.recall("who is the supervsior", explain=True)
    assert found.hits[0].memory.content == SUPERVISOR
    why = found.hits[0].explain
    assert why is not None
    assert why.words == ("supervisor",)
    assert why.corrections == ("supervsior → supervisor",)
    assert found.notes == ("'supervsior' was read as 'supervisor'.",)


async def test_a_corrected_query_is_embedded_instead(memory: AsyncMemory) -> None:
    await memory.retain([SUPERVISOR, "The boiler shows error E55"])
    right = await memory.recall("supervisor of the shift", techniques=["vector", "text"], explain=True)
    wrong = await memory.recall("supervsior of the shift", techniques=["vector", "text"], explain=True)
    cosines = [found.hits[0].explain and found.hits[0].explain.cosine for found in (right, wrong)]
    assert cosines[0] == cosines[1]


async def test_a_corrected_word_weighs_a_little_less(memory: AsyncMemory) -> None:
    await memory.retain([SUPERVISOR, "The boiler shows error E55"])
    right = await memory.recall("supervisor", techniques=["text"], refuse_below=0)
    wrong = await memory.recall("supervsior", techniques=["text"], refuse_below=0)
    assert 0 < wrong.confidence <= right.confidence


@pytest.mark.parametrize("query", ["who is Ifeoma", "what is E56", "where is the quokka"])
async def test_known_words_codes_and_far_words_are_not_corrected(memory: AsyncMemory, query: str) -> None:
    await memory.retain([SUPERVISOR, "The boiler shows error E55"])
    assert not (await memory.recall(query, refuse_below=0)).notes


async def test_words_of_an_owner_with_statistics_are_corrected(memory: AsyncMemory) -> None:
    await memory.retain([SUPERVISOR, *(f"The lamp {number} is on" for number in range(20))])
    await refresh_word_statistics(core_of(memory), "alice")
    found = await memory.recall("supervsior", refuse_below=0)
    assert found.notes == ("'supervsior' was read as 'supervisor'.",)
    assert query_terms.COUNTED_MAX > STATISTICS_MIN_MEMORIES


async def test_a_forgotten_memory_corrects_nothing(memory: AsyncMemory) -> None:
    stored = await memory.retain([SUPERVISOR, "The boiler shows error E55"])
    await memory.memories.forget(stored.memory_ids[0])
    assert not (await memory.recall("Ifeomma", refuse_below=0)).notes


async def test_the_reader_of_a_grant_gets_words_of_granted_memories_only(memory: AsyncMemory) -> None:
    await memory.retain("The alarm code is in Zermatt", owner="bob", tags=["private"])
    await memory.retain(SUPERVISOR, owner="bob", tags=["shared"])
    await memory.retain("I have a boat", owner="alice")
    await accepted_grant(memory, "alice", owner="bob", tags=["shared"])
    assert not (await memory.recall("when in Zermat", owner="alice", refuse_below=0)).notes
    found = await memory.recall("who is Ifeomma", owner="alice", explain=True, refuse_below=0)
    assert found.hits[0].memory.content == SUPERVISOR
    assert found.hits[0].explain is not None
    assert found.hits[0].explain.corrections == ("ifeomma → ifeoma",)


async def test_a_rare_code_outranks_more_words(memory: AsyncMemory) -> None:
    wordy = "Error codes of the boiler: what the error display of a boiler means"
    await memory.retain([wordy, "CW-1187 was shipped to Oslo", "E55: check the pump"])
    for query, wanted in [
        ("error E55 of the boiler", "E55: check the pump"),
        ("what does boiler error E55 mean", "E55: check the pump"),
        ("error display CW 1187", "CW-1187 was shipped to Oslo"),
    ]:
        found = await memory.recall(query, refuse_below=0, explain=True)
        assert found.hits[0].memory.content == wanted
        assert found.hits[0].explain is not None
        assert found.hits[0].explain.scores["exact token"] > 0


async def test_an_ordinal_is_no_code(memory: AsyncMemory) -> None:
    await memory.retain(["The 10th book of the Canon", "The series has a new presenter"])
    found = await memory.recall("who joined the 10th series?", refuse_below=0, explain=True)
    assert {"10th"} <= {word for hit in found.hits if hit.explain for word in hit.explain.words}
    assert not any(hit.explain.scores.get("exact token") for hit in found.hits if hit.explain)
