"""The synchronous API with `await`, so that the tests of the suite are written once.

The synchronous `Memory` is called from threads, as in a program with threads.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any

from mnemic.sdk.portal import Facade

PLAIN_CALLS = frozenset({"scope", "context"})
ITERATING_CALLS = frozenset({"subscribe"})


class SyncAsAsync:
    """Wraps a synchronous object so that its calls can be awaited."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        name = {"aclose": "close"}.get(name, name)
        member = getattr(self._wrapped, name)
        if isinstance(member, Facade):
            return SyncAsAsync(member)
        if name in PLAIN_CALLS:
            return lambda *names, **options: SyncAsAsync(member(*names, **options))
        if name in ITERATING_CALLS:
            return lambda *arguments, **named: _iterated(member(*arguments, **named))
        return _in_thread(member) if callable(member) else member


def _in_thread(call: Any) -> Any:
    async def run(*arguments: Any, **named: Any) -> Any:
        return await asyncio.to_thread(call, *arguments, **named)

    return run


async def _iterated(steps: Iterator[Any]) -> AsyncIterator[Any]:
    end = object()
    with closing(steps):  # type: ignore[type-var]
        while (step := await asyncio.to_thread(next, steps, end)) is not end:
            yield step
