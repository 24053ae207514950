"""Both faces of the SDK behind one: the tests of the suite are written once, with `await`.

The synchronous `Memory` runs in threads, as a program with threads would use it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from typing import Any

from mnemic.sdk.portal import Facade

PLAIN_CALLS = frozenset({"scope"})
ITERATING_CALLS = frozenset({"subscribe"})


class Awaited:
    """A synchronous object whose calls can be awaited."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattr__(self, name: str) -> Any:
        name = {"aclose": "close"}.get(name, name)
        member = getattr(self._wrapped, name)
        if isinstance(member, Facade):
            return Awaited(member)
        if name in PLAIN_CALLS:
            return lambda **options: Awaited(member(**options))
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
