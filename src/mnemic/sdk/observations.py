"""Observations about an entity, as in the reference MCP memory server: each one is a fact and a memory.

The fact belongs to the entity, and recall finds the memory. The attribute of the fact is ``observation <id>``
with the id of the memory, so that both are deleted together. Ids sort by time, so observations keep their
order. Callers retain the memories first and add the facts afterwards: a memory without its fact is still
found, and adding the observation again adds the fact.
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
# The category is stored in lower case; this key of the metadata holds the type as it was given.
TYPE_KEY = "entity_type"


def observation_item(name: str, observation: str) -> dict[str, Any]:
    """The item to pass to `retain`."""
    return {"content": _content(name, observation), "metadata": {"entity": name}}


def observation_facts(
    name: str,
    observations: Iterable[str],
    items: Sequence[Mapping[str, Any]],
    retained: Retained | None,
    held: Mapping[str, Any],
) -> dict[str, str]:
    """The facts of observations whose `items` were retained; `held` are the existing facts of the entity."""
    memory_ids = _memory_ids(items, retained)
    facts: dict[str, str] = {}
    for text in observations:
        attribute = f"{OBSERVATION}{memory_ids.get(_content(name, text), '')}"
        is_free = attribute != OBSERVATION and attribute not in facts and held.get(attribute) is None
        facts[attribute if is_free else f"{OBSERVATION}{new_id()}"] = text
    return facts


async def forget_observations(memory: AsyncMemory, attributes: Iterable[str]) -> None:
    """Forget the memories of these facts; facts that are not observations have none."""
    for attribute in attributes:
        if attribute.startswith(OBSERVATION):
            # An observation from a version that did not store memories has none.
            with suppress(NotFoundError):
                await memory.memories.forget(
                    attribute.removeprefix(OBSERVATION), reason="its observation was deleted"
                )


def _content(name: str, observation: str) -> str:
    """The observation with its subject, which is often left out: "lives in Berlin" is ambiguous."""
    return observation if name.casefold() in observation.casefold() else f"{name}: {observation}"


def _memory_ids(items: Sequence[Mapping[str, Any]], retained: Retained | None) -> dict[str, UUID]:
    """The id of the memory for each content that was stored or is a duplicate."""
    if retained is None:
        return {}
    known = {stored.index: stored.memory_id for stored in retained.stored}
    known |= {duplicate.index: duplicate.duplicate_of for duplicate in retained.duplicates}
    return {str(item["content"]): known[index] for index, item in enumerate(items) if index in known}
