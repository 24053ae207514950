"""Rerankers that hang, fail or return nonsense leave the order as it is, and say so."""

import asyncio
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.attacks.models.hostile_engines import SECRET
from tests.fresh_tenants import OpenMemory


class Hostile:
    """A reranker whose answer is what a function returns or raises."""

    name = "hostile:reranker"

    def __init__(self, answer: Callable[[Sequence[str]], Any]) -> None:
        self.answer = answer

    async def rerank(self, query: str, texts: Sequence[str]) -> Any:
        return self.answer(texts)


class Hanging(Hostile):
    """Never answers."""

    async def rerank(self, query: str, texts: Sequence[str]) -> Any:
        await asyncio.Event().wait()


def fail(texts: Sequence[str]) -> Any:
    """Raise an exception with a secret."""
    raise RuntimeError(SECRET)


ANSWERS: dict[str, Callable[[Sequence[str]], Any]] = {
    "an exception": fail,
    "None": lambda texts: None,
    "a string": lambda texts: "9" * len(texts),
    "too few": lambda texts: [],
    "too many": lambda texts: [0.5] * (len(texts) + 1),
    "an unending generator": lambda texts: itertools.repeat(0.5),
    "strings": lambda texts: ["0.5"] * len(texts),
    "NaN": lambda texts: [float("nan")] * len(texts),
    "infinity": lambda texts: [float("inf")] * len(texts),
    "above one": lambda texts: [1.5] * len(texts),
    "complex numbers": lambda texts: [1 + 2j] * len(texts),
}


async def test_an_unusable_reranker_is_left_out(open_memory: OpenMemory, subtests: pytest.Subtests) -> None:
    hostile = {label: Hostile(answer) for label, answer in ANSWERS.items()} | {"hanging": Hanging(fail)}
    for label, reranker in hostile.items():
        with subtests.test(label):
            memory = await open_memory(reranker=reranker, settings={"llm_timeout_s": 0.05})
            await memory.retain("Alice lives in Berlin.")
            async with asyncio.timeout(60):
                found = await memory.recall("Where does Alice live?")
            assert "Alice lives in Berlin." in found.text
            assert "The reranker hostile:reranker" in " ".join(found.notes)
            assert SECRET not in " ".join(found.notes)
