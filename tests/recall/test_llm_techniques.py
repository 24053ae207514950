"""Techniques that call a language model: used if switched on, timed, left out with a note if they fail."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from mnemic.errors import ConfigurationError
from mnemic.models.reranking import RERANK_MAX, WordOverlapReranker
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.recalled import Recalled
from tests.recall.conftest import OpenWith
from tests.scripted_language import Script

PLAIN = ("vector", "text")
ASKING = ("expansion", "hyde", "self_query")
SHORT_S = 0.2
FACTS = ("Alice owns a canoe", "Alice likes opera", "The boiler was repaired", "The boiler needs oil")


def model_of(script: Script) -> FunctionModel:
    return FunctionModel(script.reply, model_name="scripted")


async def never(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets the event")


async def filled(open_with: OpenWith, **options: Any) -> AsyncMemory:
    memory = await open_with(**options)
    await memory.retain(FACTS)
    return memory


async def ask(memory: AsyncMemory, query: str, *techniques: str) -> Recalled:
    chosen: Any = (*PLAIN, *techniques)
    return await memory.recall(query, techniques=chosen, refuse_below=0, explain=True)


def best(found: Recalled) -> str:
    return found[0].memory.content


@pytest.mark.parametrize(
    ("technique", "answer"),
    [("expansion", {"wordings": ["Alice owns a canoe"]}), ("hyde", {"passage": "Alice owns a canoe"})],
)
async def test_what_the_model_says_brings_the_memory_near(
    open_with: OpenWith, technique: str, answer: dict[str, Any]
) -> None:
    script = Script(answer)
    memory = await filled(open_with, llm=model_of(script))
    plain = await ask(memory, "vessel")
    helped = await ask(memory, "vessel", technique)
    assert script.texts == ["vessel"], "asked once, and only when the technique is on"
    assert best(helped) == "Alice owns a canoe"
    cosines = [
        next(hit.explain.cosine for hit in found if hit.memory.content == FACTS[0] and hit.explain)
        for found in (plain, helped)
    ]
    assert cosines[1] is not None
    assert cosines[0] is not None
    assert cosines[1] > cosines[0] + 0.2
    assert helped.timings[technique] > 0
    assert technique not in plain.timings
    assert helped.notes == ()


async def test_a_self_query_filters(open_with: OpenWith) -> None:
    answer = {"since": "2026-03-01", "until": "2026-04-01", "categories": ["preference"], "query": "boiler"}
    memory = await open_with(llm=model_of(Script(answer)))
    await memory.retain("the boiler in March", at="2026-03-05T00:00:00Z", category="preference")
    await memory.retain("the boiler was a fact in March", at="2026-03-06T00:00:00Z", category="factual")
    await memory.retain("the boiler in May", at="2026-05-05T00:00:00Z", category="preference")
    query = "preference about the boiler in March 2026"
    found = await ask(memory, query, "self_query")
    assert [hit.memory.content for hit in found] == ["the boiler in March"]
    assert (found.query, found.timings["self_query"] > 0) == ("boiler", True)
    assert len(await ask(memory, query)) == 3


async def test_filters_of_the_caller_go_before_those_of_a_self_query(open_with: OpenWith) -> None:
    answer = {"since": "2026-03-01", "categories": ["preference"], "query": "boiler"}
    memory = await open_with(llm=model_of(Script(answer)))
    await memory.retain("the boiler in May", at="2026-05-05T00:00:00Z", category="factual")
    await memory.retain("the boiler long ago", at="2020-05-05T00:00:00Z", category="factual")
    found = await memory.recall(
        "preference for a boiler since March 2026",
        techniques=["text", "self_query"],
        categories=["factual"],
        until="2021-01-01T00:00:00Z",
    )
    assert [hit.memory.content for hit in found] == ["the boiler long ago"]


@pytest.mark.parametrize("technique", ASKING)
async def test_a_failing_model_is_left_out_with_a_note(open_with: OpenWith, technique: str) -> None:
    memory = await filled(open_with, llm=model_of(Script(RuntimeError("the model is down"))))
    found = await ask(memory, "canoe", technique)
    assert best(found) == "Alice owns a canoe"
    (note,) = found.notes
    assert note.startswith(f"{technique} was left out: ")
    assert found.timings[technique] > 0


async def test_a_slow_model_is_left_out_with_a_note(open_with: OpenWith) -> None:
    memory = await filled(open_with, settings={"llm_timeout_s": SHORT_S}, llm=FunctionModel(never))
    found = await ask(memory, "canoe", *ASKING)
    assert best(found) == "Alice owns a canoe"
    assert [note.split()[0] for note in found.notes] == list(ASKING)
    for technique in ASKING:
        assert found.timings[technique] >= SHORT_S * 1000 * 0.9


async def test_without_a_model_the_techniques_are_left_out_with_a_note(open_with: OpenWith) -> None:
    memory = await filled(open_with)
    found = await ask(memory, "canoe", *ASKING)
    assert best(found) == "Alice owns a canoe"
    assert found.notes == tuple(f"{technique} was left out: no LLM is set." for technique in ASKING)


async def test_no_transaction_is_open_while_the_model_works(open_with: OpenWith) -> None:
    """More calls wait for models than there are connections; another call still succeeds."""
    waiting, go_on = asyncio.Semaphore(0), asyncio.Event()

    async def reply(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        waiting.release()
        await go_on.wait()
        raise RuntimeError("no answer")

    memory = await filled(open_with, settings={"llm_timeout_s": 60}, llm=FunctionModel(reply))
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asked = [group.create_task(ask(memory, "canoe", "hyde")) for _ in range(40)]
        for _ in asked:
            await waiting.acquire()
        assert best(await ask(memory, "canoe")) == "Alice owns a canoe"
        go_on.set()
    assert all(best(task.result()) == "Alice owns a canoe" for task in asked)


async def test_the_usual_test_model_of_pydantic_ai_does_no_harm(open_with: OpenWith) -> None:
    memory = await filled(open_with, llm=TestModel())
    found = await ask(memory, "canoe", *ASKING)
    assert best(found) == "Alice owns a canoe"
    assert set(ASKING) <= found.timings.keys()


async def test_a_reranker_turns_the_order(open_with: OpenWith) -> None:
    plain = await filled(open_with)
    judged = await filled(open_with, reranker=WordOverlapReranker())
    query = "the boiler the boiler needs the the oil repaired"
    before, after = await ask(plain, query), await ask(judged, query)
    assert "rerank" not in before.timings
    assert after.timings["rerank"] > 0
    assert {hit.memory.content for hit in before} == {hit.memory.content for hit in after}
    assert [hit.score for hit in after] == sorted((hit.score for hit in after), reverse=True)
    assert best(after) == "The boiler needs oil"
    assert after[0].score == 4 / 5
    assert all(hit.explain is not None and "reranker" in hit.explain.scores for hit in after)


class Reversing:
    """Scores the last text best, and records the texts."""

    name = "reversing"
    texts_max = RERANK_MAX
    points: float | None = None

    def __init__(self) -> None:
        self.texts: Sequence[str] = ()

    async def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """A higher score for a later text."""
        self.texts = texts
        return [place / len(texts) for place in range(len(texts))]


async def test_a_reranker_judges_more_than_are_wanted_and_the_limit_holds(open_with: OpenWith) -> None:
    reversing = Reversing()
    memory = await open_with(reranker=reversing)
    turns = [f"the boiler part {number} {'and more ' * number}" for number in range(30)]
    await memory.retain(turns, conversation="cellar")
    found = await memory.recall("boiler", limit=3, include=["neighbours"])
    assert len(reversing.texts) == 30
    assert [hit.memory.content for hit in found] == [text.split("] ")[1] for text in reversing.texts[:-4:-1]]
    assert all(len(hit.neighbours) >= 2 for hit in found), "also those that were far behind have their turns"


async def test_a_reranker_may_add_to_the_scores_of_recall(open_with: OpenWith) -> None:
    reversing = Reversing()
    reversing.points = 0.001
    plain, judged = await filled(open_with), await filled(open_with, reranker=reversing)
    before, after = await ask(plain, "the boiler"), await ask(judged, "the boiler")
    assert [hit.memory.content for hit in after] == [hit.memory.content for hit in before], (
        "it adds too little"
    )
    gains = [new.score - old.score for old, new in zip(before, after, strict=True)]
    assert gains[0] == pytest.approx(0, abs=1e-6), "only its age has changed"
    assert all(1e-6 < gain < 0.01 for gain in gains[1:])


async def test_hits_beyond_those_that_a_reranker_scores_follow_in_their_order(open_with: OpenWith) -> None:
    reversing = Reversing()
    reversing.texts_max = 2
    plain, judged = await filled(open_with), await filled(open_with, reranker=reversing)
    before, after = await ask(plain, "the boiler"), await ask(judged, "the boiler")
    contents = [hit.memory.content for hit in before]
    assert len(reversing.texts) == 2 < len(contents)
    assert [hit.memory.content for hit in after] == [contents[1], contents[0], *contents[2:]]
    assert [hit.score for hit in after] == sorted((hit.score for hit in after), reverse=True)


async def test_a_failing_reranker_leaves_the_order(open_with: OpenWith) -> None:
    plain = await filled(open_with)
    failing = await filled(open_with, reranker=WordOverlapReranker(failing=True))
    before, after = await ask(plain, "the boiler"), await ask(failing, "the boiler")
    assert [hit.memory.content for hit in after] == [hit.memory.content for hit in before]
    assert after.notes == ("The reranker was left out: The test reranker is set to fail.",)


async def test_the_language_model_as_a_reranker_is_timed_out(open_with: OpenWith) -> None:
    memory = await filled(
        open_with, settings={"llm_timeout_s": SHORT_S}, llm=FunctionModel(never), reranker="llm"
    )
    found = await ask(memory, "canoe")
    assert best(found) == "Alice owns a canoe"
    (note,) = found.notes
    assert note.startswith("The reranker was left out: ")


async def test_the_language_model_reranks(open_with: OpenWith) -> None:
    scores = [{"number": number, "score": number / 4} for number in (1, 2, 3, 4)]
    memory = await filled(open_with, llm=model_of(Script({"scores": scores})), reranker="llm")
    found = await ask(memory, "the boiler oil")
    assert [hit.score for hit in found] == [1.0, 0.75, 0.5, 0.25]
    assert best(found) != "The boiler needs oil", "the model had the last word"


async def test_a_reranker_that_needs_a_model_says_so(open_with: OpenWith) -> None:
    memory = await open_with(reranker="llm")
    with pytest.raises(ConfigurationError, match="needs an LLM"):
        await memory.recall("canoe")


async def test_a_refusal_is_not_reranked(open_with: OpenWith) -> None:
    reversing = Reversing()
    memory = await filled(open_with, reranker=reversing)
    assert (await memory.recall("quantum chromodynamics")).refused
    assert reversing.texts == ()
