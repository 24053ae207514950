"""Test models for changing from one to the other: no two tests share a dimension, and so a table."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import count

import pytest

from mnemic.models.engine import FloatArray, InputType
from tests.unsteady_engine import Unsteady

_dimensions: Iterator[int] = count(101)


class Watched(Unsteady):
    """Counts what it embeds, refuses `bad` texts if told to, and lets `beside` happen each time."""

    def __init__(self) -> None:
        super().__init__(next(_dimensions))
        self.count = 0
        self.is_picky = False
        self.beside: Callable[[], Awaitable[object]] | None = None

    async def embed(self, texts: Sequence[str], *, input_type: InputType = "document") -> FloatArray:
        if self.is_picky and any("bad" in text for text in texts):
            raise ValueError("no bad words")
        self.count += len(texts)
        if self.beside is not None:
            await self.beside()
        return await super().embed(texts, input_type=input_type)


@pytest.fixture
def old() -> Watched:
    return Watched()


@pytest.fixture
def new() -> Watched:
    return Watched()
