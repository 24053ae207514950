"""Random changesets in random order, with edits between, are undone exactly, or a conflict is named.

In the suite it is a small run; with SLOW_TESTS=1 (`make test-slow`) one with 60 seeds.
"""

import os
import random
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from mnemic.db.database import TenantDatabase
from mnemic.errors import ChangeConflictError
from mnemic.record.changesets import MemoryChange
from mnemic.record.memories import VERSIONED_FIELDS
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import STATUSES
from tests.change_log import Log
from tests.fresh_tenants import OpenMemory

pytestmark = pytest.mark.usefixtures("no_comparisons")

SEEDS = range(60 if "SLOW_TESTS" in os.environ else 3)
STEPS = 8
FACTS = (
    "Alice lives in Berlin.",
    "Alice lives in Lisbon.",
    "Bob likes green tea.",
    "Bob drinks green tea every day.",
    "The office closes at noon.",
    "Carol plays the cello.",
    "Carol sold her cello.",
)
LONG_TEXT = " ".join(f"Sentence {number} about the garden of the old castle." for number in range(400))
QUERIES = ("Where does Alice live?", "green tea", "Who plays the cello?", "the garden of the castle")

State = dict[UUID, dict[str, Any]]


@dataclass
class World:
    """A store, its change log, and what the memories were before each changeset."""

    memory: AsyncMemory
    log: Log
    chance: random.Random
    ids: list[UUID] = field(default_factory=list)
    before: dict[UUID, State] = field(default_factory=dict)
    applied: list[UUID] = field(default_factory=list)
    added_count: int = 0
    conflicts: list[str] = field(default_factory=list)

    async def visible(self) -> State:
        """The versioned fields of everything that is not forgotten."""
        found = await self.memory.memories.list(statuses=list(STATUSES), limit=1000)  # type: ignore[arg-type]
        return {each.memory_id: {name: getattr(each, name) for name in VERSIONED_FIELDS} for each in found}

    async def edges(self) -> set[tuple[UUID, UUID, str]]:
        listed = [await self.memory.memories.related(each, limit=1000) for each in self.ids]
        return {(each.from_id, each.to_id, each.kind) for edges in listed for each in edges}

    async def answers(self) -> list[list[UUID]]:
        """What recall finds, in order. Scores differ a little: forgotten memories count in the statistics."""
        recalled = [
            await self.memory.recall(query, refuse_below=0, record=False, limit=20) for query in QUERIES
        ]
        return [[hit.memory.memory_id for hit in each] for each in recalled]

    async def random_change(self) -> MemoryChange:
        memory_id, other = self.chance.sample(self.ids, 2)
        kind = self.chance.choice(
            ("archive", "supersede", "merge", "move", "prune", "quarantine", "demote", "add")
        )
        if kind == "add":
            self.added_count += 1
            content = f"Added fact {self.added_count}: {self.chance.choice(FACTS)}"
            (added,) = (await self.memory.retain(content)).memory_ids
            return MemoryChange(added, "add", {}, "understood", related_id=other, relationship="derived_from")
        fields_of: dict[str, dict[str, Any]] = {
            "archive": {"status": "archived"},
            "supersede": {"status": "superseded", "superseded_by": other, "valid_to": "2026-03-01"},
            "merge": {"status": "merged", "merged_into": other},
            "move": {"channel": self.chance.choice(("work", "home", "_global"))},
            "prune": {"deleted_at": "2026-03-01"},
            "quarantine": {"status": "pending_review"},
            "demote": {
                "confidence": self.chance.choice((0.25, 0.5, 0.75)),
                "tags": [f"t{self.chance.randrange(9)}"],
            },
        }
        edge: dict[str, Any] = {}
        if self.chance.random() < 0.4:
            edge = {"related_id": other, "relationship": self.chance.choice(("supports", "contradicts"))}
        return MemoryChange(memory_id, kind, fields_of[kind], f"a random {kind}", **edge)  # type: ignore[arg-type]

    async def change(self) -> None:
        """Apply a random changeset; a conflict must leave everything as it was."""
        before = await self.visible()
        changes = [await self.random_change() for _ in range(self.chance.randint(1, 4))]
        with_added = await self.visible()
        try:
            changeset_id = await self.log.stage_and_apply(*changes)
        except ChangeConflictError:
            assert await self.visible() == with_added
            for change in changes:
                if change.kind == "add":
                    await self.memory.memories.forget(change.memory_id)
            return
        after = await self.visible()
        touched = {change.memory_id for change in changes}
        self.before[changeset_id] = {
            each: fields for each, fields in before.items() if each in touched and after.get(each) != fields
        }
        self.applied.append(changeset_id)

    async def undo(self, changeset_id: UUID) -> bool:
        """Undo a changeset: its memories are as before it, or a conflict names one and nothing changed."""
        state, edges = await self.visible(), await self.edges()
        conflicts: tuple[str, ...] = ()
        try:
            await self.log.undo(changeset_id)
        except ChangeConflictError as error:
            conflicts = error.conflicts or ("no conflict is named",)
        if conflicts:
            assert all(str(each)[:11] == "the memory " for each in conflicts)
            self.conflicts += conflicts
            assert (await self.visible(), await self.edges()) == (state, edges)
            return False
        after = await self.visible()
        for memory_id, fields in self.before[changeset_id].items():
            assert after.get(memory_id) == fields, "exactly what it was"
        self.applied.remove(changeset_id)
        return True

    async def edit(self) -> None:
        """What a user does between: an edit, forgetting, restoring, storing again."""
        memory_id = self.chance.choice(self.ids)
        kind = self.chance.randrange(4)
        if kind == 0:
            await self.memory.memories.tag(memory_id, f"mine{self.chance.randrange(99)}")
        elif kind == 1:
            await self.memory.memories.forget(memory_id)
        elif kind == 2:
            await self.memory.memories.update(memory_id, confidence=self.chance.random())
        else:
            await self.memory.retain(self.chance.choice(FACTS))


async def new_world(open_memory: OpenMemory, seed: int) -> World:
    memory = await open_memory()
    await memory.retain([*FACTS, LONG_TEXT])
    database: TenantDatabase = memory._core.storage.tenant_database
    world = World(memory, Log(database), random.Random(seed))
    world.ids = sorted(await world.visible())
    return world


async def test_undoing_everything_in_any_order_brings_back_what_was(
    open_memory: OpenMemory, subtests: pytest.Subtests
) -> None:
    """A later changeset can stand in the way of an earlier one, so undoing is tried until none is left."""
    for seed in SEEDS:
        with subtests.test(seed=seed):
            world = await new_world(open_memory, seed)
            start = await world.visible(), await world.edges(), await world.answers()
            for _ in range(STEPS):
                await world.change()
            assert world.applied, "some changesets are applied"
            while world.applied:
                order = world.chance.sample(world.applied, len(world.applied))
                done = [await world.undo(changeset_id) for changeset_id in order]
                assert any(done), world.conflicts
            assert (await world.visible(), await world.edges(), await world.answers()) == start


async def test_undoing_between_edits_is_exact_or_a_conflict(
    open_memory: OpenMemory, subtests: pytest.Subtests
) -> None:
    for seed in SEEDS:
        with subtests.test(seed=seed):
            world = await new_world(open_memory, 1000 + seed)
            for _ in range(2 * STEPS):
                act = world.chance.random()
                if act < 0.45:
                    await world.change()
                elif act < 0.7:
                    await world.edit()
                elif world.applied:
                    await world.undo(world.chance.choice(world.applied))
