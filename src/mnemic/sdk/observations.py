"""Observations about an entity, as the reference MCP memory server has them: each is a fact and a memory.

The fact is what is known of the entity, the memory is what recall finds. The fact's attribute names the
memory, ``observation <id>``, so that both end together; ids sort by time, so that observations keep their
order. Whoever stores some retains them first: a memory whose fact is missing is found all the same, and
telling the observation again adds the fact.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from mnemic.errors import NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.identity import new_id
from mnemic.types.retained import Retained

OBSERVATION = "observation "
# The category is kept in lower case; this is the type as it was given.
TYPE_KEY = "entity_type"


def observation_item(name: str, observation: str) -> dict[str, Any]:
    """What `retain` is given."""
    return {"content": _content(name, observation), "metadata": {"entity": name}}


def observation_facts(
    name: str,
    observations: Iterable[str],
    items: Sequence[Mapping[str, Any]],
    retained: Retained | None,
    held: Mapping[str, Any],
) -> dict[str, str]:
    """The facts of observations whose `items` were retained; `held` are the facts that the entity has."""
    memory_ids = _memory_ids(items, retained)
    facts: dict[str, str] = {}
    for text in observations:
        attribute = f"{OBSERVATION}{memory_ids.get(_content(name, text), '')}"
        is_free = attribute != OBSERVATION and attribute not in facts and held.get(attribute) is None
        facts[attribute if is_free else f"{OBSERVATION}{new_id()}"] = text
    return facts


async def forget_observations(memory: AsyncMemory, attributes: Iterable[str]) -> None:
    """Stop recalling what these facts name; other facts are no memories."""
    for attribute in attributes:
        if attribute.startswith(OBSERVATION):
            # One that was told before observations were memories has none.
            with suppress(NotFoundError):
                await memory.memories.forget(
                    attribute.removeprefix(OBSERVATION), reason="its observation was deleted"
                )


def _content(name: str, observation: str) -> str:
    """Observations leave their subject out: on its own, "lives in Berlin" answers nothing."""
    return observation if name.casefold() in observation.casefold() else f"{name}: {observation}"


def _memory_ids(items: Sequence[Mapping[str, Any]], retained: Retained | None) -> dict[str, UUID]:
    """The memory of each content that is known now."""
    if retained is None:
        return {}
    known = {stored.index: stored.memory_id for stored in retained.stored}
    known |= {duplicate.index: duplicate.duplicate_of for duplicate in retained.duplicates}
    return {str(item["content"]): known[index] for index, item in enumerate(items) if index in known}
