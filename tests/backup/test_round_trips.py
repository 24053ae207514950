"""Whatever an owner holds: exported, imported elsewhere and exported again, it is the same."""

import json
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mnemic.db.database import Database
from mnemic.errors import ConflictError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import CATEGORIES, RELATIONSHIP_KINDS
from tests.opened import opened

TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\0"), min_size=1, max_size=30
).filter(lambda text: bool(text.strip()))
NUMBER = st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False, width=32)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ITEM = st.fixed_dictionaries(
    {"content": TEXT | TEXT.map(lambda text: (text + " ") * 700)},
    optional={
        "category": st.sampled_from(CATEGORIES),
        "confidence": st.floats(0, 1, width=32),
        "tags": st.lists(TEXT, max_size=3),
        "metadata": st.dictionaries(TEXT, JSON, max_size=3),
        "conversation": st.sampled_from(["c", "d"]),
        "at": st.datetimes(timezones=st.timezones()),
        "name": TEXT,
        "external_id": TEXT,
        "anchored": st.booleans(),
    },
)
PLACE = st.integers(0, 20)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("retain"), st.lists(ITEM, min_size=1, max_size=3)),
        st.tuples(st.just("update"), st.tuples(PLACE, TEXT)),
        st.tuples(st.just("forget"), PLACE),
        st.tuples(st.just("supersede"), st.tuples(PLACE, TEXT)),
        st.tuples(st.just("relate"), st.tuples(PLACE, PLACE, st.sampled_from(RELATIONSHIP_KINDS))),
        st.tuples(st.just("document"), st.tuples(st.sampled_from("ab"), TEXT)),
        st.tuples(
            st.just("entity"), st.tuples(st.sampled_from(["Bonn", "Rome"]), st.dictionaries(TEXT, JSON))
        ),
        st.tuples(st.just("delete entity"), st.sampled_from(["Bonn", "Rome"])),
        st.tuples(st.just("state"), st.tuples(TEXT, JSON)),
        st.tuples(st.just("triple"), st.tuples(TEXT, TEXT, TEXT)),
        st.tuples(st.just("journal"), JSON.filter(lambda value: value is not None)),
        st.tuples(st.just("revenue"), st.decimals(-(10**6), 10**6, places=4)),
    ),
    max_size=10,
)


class Writer:
    """Does steps, and knows the memories that they made."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory
        self._ids: list[UUID] = []

    async def do(self, step: str, argument: Any) -> None:
        if step == "retain":
            self._ids += (await self._memory.retain(argument)).memory_ids
        elif step in ("update", "forget", "supersede", "relate"):
            if self._ids:
                await self._change(step, argument)
        else:
            await self._note(step, argument)

    def _at(self, place: int) -> UUID:
        return self._ids[place % len(self._ids)]

    async def _change(self, step: str, argument: Any) -> None:
        memories = self._memory.memories
        if step == "forget":
            await memories.forget(self._at(argument))
        elif step == "update":
            await memories.update(self._at(argument[0]), metadata={"words": argument[1]}, tags=[argument[1]])
        elif step == "supersede":
            self._ids.append(
                (await memories.supersede(self._at(argument[0]), f"{argument[1]} now")).memory_id
            )
        elif self._at(argument[0]) != self._at(argument[1]):
            await memories.relate(self._at(argument[0]), self._at(argument[1]), argument[2])

    async def _note(self, step: str, argument: Any) -> None:
        if step == "document":
            await self._memory.documents.put(*argument)
        elif step == "entity":
            await self._memory.entities.upsert("city", argument[0], facts=argument[1])
        elif step == "delete entity":
            await self._memory.entities.upsert("city", argument)
            await self._memory.entities.delete("city", argument)
        elif step == "state":
            await self._memory.state.set(argument[0], argument[1])
        elif step == "triple":
            await self._memory.triples.add(*argument)
        elif step == "journal":
            await self._memory.journal.append(evaluated=argument)
        else:
            await self._memory.revenue.append(argument, "EUR", source="shop")


def rows_of(path: Path) -> Counter[str]:
    """The lines of an export as they stand there, without the logs, which are not imported."""
    lines = path.read_bytes().decode().removesuffix("\n").split("\n")
    return Counter(line for line in lines[1:] if not json.loads(line)["table"].startswith("traces."))


@given(steps=STEPS)
@example(steps=[("state", ("key", None)), ("entity", ("Bonn", {"nothing": None}))])
@settings(max_examples=10, suppress_health_check=list(HealthCheck), print_blob=True)
async def test_an_owner_is_the_same_after_moving(
    shared_database: Database, tmp_path: Path, steps: list[tuple[str, Any]]
) -> None:
    here, there = [
        opened(shared_database, await shared_database.open_tenant(f"tenant {uuid4()}"), embedder="test")
        for _ in range(2)
    ]
    writer = Writer(here)
    for step, argument in steps:
        try:
            await writer.do(step, argument)
        except ConflictError:
            continue  # What is superseded already, for example.
    await here.admin.export(tmp_path / "here", replace=True)
    await there.admin.import_(tmp_path / "here")
    await there.admin.export(tmp_path / "there", replace=True)
    assert rows_of(tmp_path / "there") == rows_of(tmp_path / "here")
    everything: dict[str, Any] = {"statuses": None, "include_forgotten": True, "limit": 1000}
    for record in await here.memories.list(**everything):
        assert await there.memories.history(record.memory_id) == await here.memories.history(record.memory_id)
        assert await there.memories.related(record.memory_id) == await here.memories.related(record.memory_id)
        assert await there.memories.whole(record.memory_id) == await here.memories.whole(record.memory_id)
