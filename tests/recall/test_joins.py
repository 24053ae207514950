"""Joins: two memories that answer a query together."""

from dataclasses import replace

import numpy as np
import pytest

from mnemic.recall.bridging import looks_like_join
from mnemic.recall.ranking import rank
from mnemic.sdk.memory import AsyncMemory
from tests.accepted_grants import accepted_grant
from tests.recall.test_refusal import ANALYSIS, sample_pool

NOISE = tuple(f"The tram to stop number {number} is yellow." for number in range(60))
HUSBAND = "We live in Lille with my husband Tobias."
WORK = "Tobias joined the Pasteur in spring."
QUERY = "Where does my husband work?"

JOINS = (
    QUERY,
    "What does the sister of the guy I'm riding with do?",
    "Who owns the part that broke?",
    "Did we get money for what went wrong?",
    "We lost the deal over one thing. Do we have it now?",
    "Could Tobias take Elias to the pool?",
    "¿Qué come la amiga que viene de viaje?",
    "Wo arbeitet meine Schwester?",
)
ORDINARY = (
    "Where is the key?",
    "tractor",
    "What did Alice buy in March?",
    "How old is the Golden Gate Bridge?",
    "What kind of music does Alice like?",
)


def test_a_bridge_lifts_no_memory_above_the_best_one() -> None:
    pool = replace(sample_pool(terms=(1, 1, 0)), cosines=np.array([0.5, 0.45, 0.1]))
    plain = rank(pool, ANALYSIS, 0.0)
    bridged = rank(replace(pool, bridges=np.array([0.0, 2.0, 2.0])), ANALYSIS, 0.0)
    assert list(np.argsort(-plain.fused)) == list(np.argsort(-bridged.fused)) == [0, 1, 2]
    assert bridged.fused[1] > plain.fused[0], "the second one would have been the first"
    assert bridged.parts["bridge"][2] > 0


def test_which_queries_look_like_joins(subtests: pytest.Subtests) -> None:
    for query in JOINS:
        with subtests.test(query):
            assert looks_like_join(query)
    for query in ORDINARY:
        with subtests.test(query):
            assert not looks_like_join(query)


async def test_a_memory_is_found_by_a_name_that_the_query_lacks(memory: AsyncMemory) -> None:
    await memory.retain([*NOISE, WORK, HUSBAND])
    found = await memory.recall(QUERY, limit=40, techniques=["text"], refuse_below=0, explain=True)
    by_content = {hit.memory.content: hit for hit in found}
    assert {HUSBAND, WORK} <= set(by_content)
    explain = by_content[WORK].explain
    assert explain is not None
    assert explain.found_by == ("bridge",)
    assert explain.scores["bridge"] > 0
    assert "bridge" in found.timings


async def test_a_query_that_is_no_join_searches_once(memory: AsyncMemory) -> None:
    await memory.retain([*NOISE, WORK, HUSBAND])
    found = await memory.recall("Lille", refuse_below=0)
    assert "bridge" not in found.timings


async def test_a_join_combines_own_and_shared_memories(memory: AsyncMemory) -> None:
    await memory.retain([*NOISE, HUSBAND])
    await memory.retain([*NOISE, WORK], owner="bob")
    await accepted_grant(memory, "alice", owner="bob")
    found = await memory.recall(QUERY, limit=80, refuse_below=0, techniques=["text"])
    assert {HUSBAND, WORK} <= {hit.memory.content for hit in found}
