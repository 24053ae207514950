"""A group of calls of the sample SDK; it imports its memory only for the type checker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from decimal import Decimal

    from tests.sdk.sample_memory import AsyncMemory


@dataclass(frozen=True)
class Value:
    """A value with its name, defined in the module of the group that returns it."""

    name: str
    number: int | Decimal


class AsyncState:
    """Small values by name: `await memory.state.get("mood")`."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory

    @property
    def memory(self) -> AsyncMemory:
        """The memory that it belongs to."""
        return self._memory

    async def get(self, name: str, *, default: Value | None = None) -> Value | None:
        """Find a value."""
        self._memory.log.append(f"get {name}")
        return default

    async def put_all(self, values: Mapping[str, Decimal]) -> list[Value]:
        """Keep values."""
        return [Value(name, number) for name, number in values.items()]
