"""The file of the reference MCP memory server: a line per entity with its observations, a line per relation.

An entity keeps its name and type. Each observation becomes a fact and a memory, like those that clients add
through `mnemic mcp` with that server's tools (`mnemic.sdk.observations`). The file is read three times: to
validate it and learn the types of entities, because relations refer to entities by name; to store the
entities; to store the relations.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from mnemic.adapters.importing.batches import BatchBuilder, ImportBatch, SkippedRecord
from mnemic.adapters.importing.files import open_text
from mnemic.adapters.importing.records import Record, read_records
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.knowledge.entities import FACTS_MAX
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.observations import TYPE_KEY, observation_facts, observation_item
from mnemic.types.entity import CATEGORY_MAX_CHARACTERS
from mnemic.types.retained import Retained
from mnemic.types.scope import check_name

ENTITIES_MAX = 1_000_000
"""Limit for the entities of one file: their names and types are kept until the relations are read."""

FIELDS = {"entity": ("name", "entityType"), "relation": ("from", "to", "relationType")}


def read_mcp_memory(path: Path) -> Iterator[ImportBatch]:
    """A batch per entity, then one per relation."""
    types = _types(path)
    for record in _records(path):
        if record.value["type"] == "entity":
            yield _entity(record)
    for record in _records(path):
        if record.value["type"] == "relation":
            yield _relation(record, types)


def _types(path: Path) -> dict[str, str]:
    """The type of each entity. This validates the whole file before anything is stored."""
    types: dict[str, str] = {}
    for record in _records(path):
        if record.value["type"] == "entity":
            types[record.value["name"]] = record.value["entityType"]
        if len(types) > ENTITIES_MAX:
            raise InvalidInputError(f"{path} has more than {ENTITIES_MAX:,} entities.")
    return types


def _records(path: Path) -> Iterator[Record]:
    with open_text(path) as file:
        for record in read_records(file, path.name):
            _check(record)
            yield record


def _check(record: Record) -> None:
    value = record.value
    fields = FIELDS.get(str(value.get("type")))
    if fields is None:
        raise InvalidInputError(f"{record.place}: type must be entity or relation.")
    for field in fields:
        if not isinstance(value.get(field), str) or not value[field].strip():
            raise InvalidInputError(f"{record.place}: {field} is missing or empty.")
    observations = value.get("observations", [])
    if not isinstance(observations, list) or not all(isinstance(text, str) for text in observations):
        raise InvalidInputError(f"{record.place}: observations must be a list of texts.")


def _entity(record: Record) -> ImportBatch:
    name, builder = record.value["name"], BatchBuilder()
    observations = record.value.get("observations", [])
    for number, observation in enumerate(observations, start=1):
        builder.add(f"{record.place}, observation {number}", partial(_item, name, observation))
    unusable = _unusable(name, record.value["entityType"])
    if unusable is not None:
        return ImportBatch(
            record.place, builder.items, None, [*builder.skipped, SkippedRecord(record.place, unusable)]
        )
    known = [observation for observation in observations if observation.strip()]
    upsert = _upsert(record.value["entityType"], name, known, builder.items)
    return ImportBatch(record.place, builder.items, None, builder.skipped, upsert)


def _item(name: str, observation: str) -> dict[str, Any]:
    if not observation.strip():
        raise InvalidInputError("The observation is empty.")
    # Identified by name and text, because observations have no id; hashed, because both may be long.
    identity = sha256(f"{name}\n{observation}".encode()).hexdigest()
    return {**observation_item(name, observation), "external_id": f"mcp-memory:{identity}"}


def _unusable(name: str, category: str) -> str | None:
    """Why this is not a valid entity in Mnemic; None if it is."""
    try:
        check_name("name", name)
        check_name("entityType", category)
    except InvalidInputError as error:
        return str(error)
    if len(category) > CATEGORY_MAX_CHARACTERS:
        return f"entityType has more than {CATEGORY_MAX_CHARACTERS} characters; its observations are stored."
    return None


def _upsert(
    category: str, name: str, observations: list[str], items: Sequence[Mapping[str, Any]]
) -> Callable[[AsyncMemory, Retained | None], Awaitable[None]]:
    """Returns a function that creates the entity or adds the observations that are new."""

    async def upsert(memory: AsyncMemory, retained: Retained | None) -> None:
        try:
            held = (await memory.entities.get(category, name)).facts
        except NotFoundError:
            held = {}
        known = {str(value) for value in held.values()}
        new = [text for text in dict.fromkeys(observations) if text not in known]
        facts = list(observation_facts(name, new, items, retained, held).items())
        for start in range(0, max(1, len(facts)), FACTS_MAX):
            some = dict(facts[start : start + FACTS_MAX])
            await memory.entities.upsert(category, name, facts=some, metadata={TYPE_KEY: category})

    return upsert


def _relation(record: Record, types: dict[str, str]) -> ImportBatch:
    value = record.value
    unknown = [value[end] for end in ("from", "to") if value[end] not in types]
    if unknown:
        reason = f"it relates {unknown[0][:64]!a}, which is not an entity of the file."
        return ImportBatch(record.place, [], None, [SkippedRecord(record.place, reason)])

    async def relate(memory: AsyncMemory, retained: Retained | None) -> None:
        ends = [(types[value[end]], value[end]) for end in ("from", "to")]
        await memory.entities.relate(ends[0], ends[1], value["relationType"])

    return ImportBatch(record.place, [], None, (), relate)
