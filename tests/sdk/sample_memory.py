"""A small sample of an async SDK with every kind of method that the generator translates."""

import asyncio
import contextvars
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from tests.sdk.sample_group import AsyncState

__all__ = ["AsyncMemory", "caller"]

DEFAULT_LIMIT = 10

Item = str | Mapping[str, Any]
Function = TypeVar("Function", bound=Callable[..., Any])

caller = contextvars.ContextVar("caller", default="nobody")


def routed(name: str) -> Callable[[Function], Function]:
    """Stands in for the decorator of the real calls, which the generator leaves out."""
    return lambda function: function


class CannotOpen(Exception):
    """The error of a failed opening."""


class AsyncMemory:
    """Remembers in a list.

    >>> async with AsyncMemory("here") as memory:
    ...     await memory.retain("Alice moved.", owner="alice")
    ...     async for text in memory.texts():
    ...         print(text)
    """

    def __init__(self, url: str | None = None, *, owner: str = "nobody", fails: bool = False) -> None:
        """Say where it lives.

        The URL is taken as it is.
        """
        self.url = url
        self._owner = owner
        self._fails = fails
        self.kept: list[Item] = []
        self.log: list[str] = []

    async def open(self) -> Self:
        """Connect; a second time does nothing."""
        self.log.append("open")
        await asyncio.sleep(0)
        if self._fails:
            raise CannotOpen("as you wish")
        return self

    async def aclose(self) -> None:
        """Disconnect. After `aclose` nothing works; see AsyncMemory and AsyncGenerator."""
        await asyncio.sleep(0)
        self.log.append("aclose")

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def retain(self, item: Item, /, *more: Item, owner: str | None = None, **tags: str) -> int:
        """Keep items; does not await the worker.

        >>> await memory.retain("a", "b", owner="alice")
        2
        """
        await asyncio.sleep(0)
        self.kept += [item, *more]
        return 1 + len(more)

    @routed("recall")
    async def recall(
        self, query: str, limit: int = DEFAULT_LIMIT, *, order: Literal["best", "newest"] = "best"
    ) -> dict[str, object]:
        """Give back the arguments."""
        await asyncio.sleep(0)
        return {"query": query, "limit": limit, "order": order}

    async def forget(self, items: Iterable[Item]) -> None:
        self.kept = [item for item in self.kept if item not in set(items)]

    async def fail(self, error: BaseException) -> None:
        """Raise the given error."""
        raise error

    async def caller(self) -> str:
        """Who called, by a context variable."""
        return caller.get()

    async def texts(self) -> AsyncIterator[str]:
        """What was kept, one by one; says in the log when it is closed."""
        try:
            for item in self.kept:
                yield str(item)
        finally:
            await asyncio.sleep(0)
            self.log.append("texts closed")

    async def subscribe(self, *, after: int = 0) -> "AsyncGenerator[int, None]":
        """A coroutine that returns an iterator."""

        async def numbers() -> AsyncGenerator[int, None]:
            for number in range(after, after + 3):
                yield number

        return numbers()

    def scope(self, *, owner: str) -> "AsyncMemory":
        """A view for another owner."""
        view = AsyncMemory(self.url, owner=owner)
        view.kept, view.log = self.kept, self.log
        return view

    async def archive(self, name: str) -> "AsyncMemory":
        """Another memory, found by asking the database."""
        await asyncio.sleep(0)
        return self.scope(owner=name)

    def size(self) -> int:
        """How many items there are."""
        return len(self.kept)

    @property
    def owner(self) -> str:
        """The owner of calls that name none."""
        return self._owner

    @property
    def state(self) -> AsyncState:
        """Small values by name."""
        return AsyncState(self)

    async def _private(self) -> None: ...
