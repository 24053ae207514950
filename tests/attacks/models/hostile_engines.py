"""Embedding models that hang, fail, or return anything but vectors."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import numpy as np

SECRET = "sk-proj-4hG7xQ2mZ9pLkW3vT8nRb5yC"
PROMPT = "The prompt of another tenant."


class Hostile:
    """An engine whose answer is what a function returns or raises."""

    name = "hostile:one"
    dimensions: Any = None

    def __init__(self, answer: Callable[[Sequence[str]], Any], *, name: str | None = None) -> None:
        self.answer = answer
        self.call_count = 0
        if name is not None:
            self.name = name

    async def embed(self, texts: Sequence[str], *, input_type: str) -> Any:
        self.call_count += 1
        return self.answer(texts)

    async def aclose(self) -> None:
        """Nothing to close."""


class Hanging(Hostile):
    """Never answers. With `stubborn`, it ignores being cancelled until it is released."""

    def __init__(self, *, stubborn: bool = False, name: str | None = None) -> None:
        super().__init__(lambda texts: None, name=name)
        self.stubborn = stubborn
        self.released = asyncio.Event()

    async def embed(self, texts: Sequence[str], *, input_type: str) -> Any:
        self.call_count += 1
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                if not self.stubborn:
                    raise


class Synchronous(Hostile):
    """`embed` is a plain function."""

    def embed(self, texts: Sequence[str], *, input_type: str) -> Any:
        return np.ones((len(texts), 3), np.float32)


class Streaming(Hostile):
    """`embed` is an asynchronous generator."""

    async def embed(self, texts: Sequence[str], *, input_type: str) -> AsyncIterator[Any]:  # type: ignore[override]
        yield np.ones((len(texts), 3), np.float32)


class Unending:
    """A row that says that it is short and never ends."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> "Unending":
        return self

    def __iter__(self) -> Iterator["Unending"]:
        return itertools.repeat(self)


class Exploding:
    """A row that raises an exception with a secret when it is converted."""

    def __array__(self, *arguments: object, **options: object) -> Any:
        raise RuntimeError(SECRET)


class Unprintable(Exception):
    """An exception without a message that can be read."""

    def __str__(self) -> str:
        raise ValueError(SECRET)


async def later() -> None:
    """An awaitable."""


ANSWERS: dict[str, Callable[[Sequence[str]], Any]] = {
    "None": lambda texts: None,
    "a string": lambda texts: "vector",
    "bytes": lambda texts: b"\0" * 12,
    "a number": lambda texts: 1.0,
    "a dictionary": lambda texts: {"embeddings": [[1.0, 2.0]]},
    "an unending generator": lambda texts: itertools.repeat([1.0, 2.0]),
    "an unending row": lambda texts: [Unending() for _ in texts],
    "an exploding row": lambda texts: [Exploding() for _ in texts],
    "strings in rows": lambda texts: [["1.0", "2.0"] for _ in texts],
    "None in rows": lambda texts: [[1.0, None] for _ in texts],
    "no rows": lambda texts: [],
    "too many rows": lambda texts: [[1.0, 2.0]] * (len(texts) + 1),
    "rows of different lengths": lambda texts: [[1.0], [1.0, 2.0]] * len(texts),
    "one row for all": lambda texts: np.ones(3, np.float32),
    "nested rows": lambda texts: [[[1.0, 2.0]] for _ in texts],
    "no dimensions": lambda texts: np.ones((len(texts), 0), np.float32),
    "too many dimensions": lambda texts: np.ones((len(texts), 4_001), np.float32),
    "an array of objects": lambda texts: np.array([[object(), 1.0]] * len(texts), object),
    "an array of complex numbers": lambda texts: np.full((len(texts), 3), 1 + 2j),
    "an array of booleans": lambda texts: np.ones((len(texts), 3), np.bool_),
    "an array of times": lambda texts: np.zeros((len(texts), 3), "datetime64[s]"),
    "NaN": lambda texts: np.full((len(texts), 3), np.nan, np.float32),
    "infinity": lambda texts: np.full((len(texts), 3), np.inf, np.float32),
    "numbers that overflow": lambda texts: np.full((len(texts), 3), 1e300),
    "zeros": lambda texts: np.zeros((len(texts), 3), np.float32),
    "huge integers": lambda texts: [[10**400, 1] for _ in texts],
    "a nested awaitable": lambda texts: asyncio.sleep,
}
