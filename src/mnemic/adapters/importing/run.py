"""The import itself: unit by unit from a source into a memory, counting what became of the records.

It is one act in the audit log, with counts: the owner's, or nobody's where the source says whose its
records are; then it does not name the file, whose name may be that of an owner who is erased some day. A
memory that speaks to a server has no hand in the log there: each of its calls is in that place's memory
log.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Literal, get_args

from mnemic.adapters.importing.chatgpt import read_chatgpt
from mnemic.adapters.importing.claude import read_claude
from mnemic.adapters.importing.langgraph import read_langgraph
from mnemic.adapters.importing.mcp_memory import read_mcp_memory
from mnemic.adapters.importing.mem0 import read_mem0
from mnemic.adapters.importing.units import Skipped, Unit
from mnemic.errors import InvalidInputError, NotFoundError, OwnerRequiredError
from mnemic.govern.audit import audited, file_target
from mnemic.sdk.backend import LocalBackend
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.checks import check_choice
from mnemic.types.retained import Retained

SourceName = Literal["mem0", "mcp-memory", "langgraph", "chatgpt", "claude"]
SOURCES: tuple[str, ...] = get_args(SourceName)

SKIPPED_KEPT = 100
"""Skipped records that a report names; it counts all of them."""

_READERS: dict[str, Callable[[Path], Iterator[Unit]]] = {
    "mem0": read_mem0,
    "mcp-memory": read_mcp_memory,
    "langgraph": read_langgraph,
    "chatgpt": read_chatgpt,
    "claude": read_claude,
}
assert set(_READERS) == set(SOURCES)


@dataclass(frozen=True)
class ImportReport:
    """What became of the records of an import.

    `unit_count` counts what was stored together: conversations, entities and relations, batches. `owners`
    says how many memories each owner got. Of the skipped records the first `SKIPPED_KEPT` are named.
    """

    unit_count: int
    imported_count: int
    known_count: int
    skipped_count: int
    awaiting_embedding_count: int
    owners: dict[str, int]
    skipped: tuple[Skipped, ...]


async def import_from(
    memory: AsyncMemory,
    source: SourceName,
    path: str | PathLike[str],
    *,
    owner: str | None = None,
    owner_from_source: bool = False,
    on_progress: Callable[[int], None] = lambda count: None,
) -> ImportReport:
    """Take in what another system remembers; returns what became of it.

    Everything belongs to `owner`, or to the memory's own; with `owner_from_source` to whom it belonged there,
    where the source says so. Each conversation, entity or batch of memories is stored whole or not at all. An
    error ends the import and says at which record; what was stored before stays, and importing again goes on
    from there, since what is known is recognised. `on_progress` hears how many records are done.
    """
    check_choice("source", source, SOURCES)
    default = owner if owner is not None else memory.owner
    if default is None and not owner_from_source:
        raise OwnerRequiredError("Whose memories are these? Name an owner, or take the owners of the source.")
    tally, file = _Tally(), Path(path)
    async with _audited(memory, source, file, owner=None if owner_from_source else default) as tell:
        try:
            await _import(memory, _READERS[source](file), tally, default, owner_from_source, on_progress)
        finally:
            tell(**tally.numbers())
    return tally.report()


async def _import(
    memory: AsyncMemory,
    units: Iterator[Unit],
    tally: "_Tally",
    default: str | None,
    owner_from_source: bool,
    on_progress: Callable[[int], None],
) -> None:
    # In a thread: a record may be large, and the event loop belongs to others, too.
    while (unit := await asyncio.to_thread(next, units, None)) is not None:
        unit_owner = _owner_of(unit, default, owner_from_source=owner_from_source)
        retained, unusable = await _store(memory, unit, unit_owner)
        tally.add(unit, retained, unusable, unit_owner)
        on_progress(tally.done_count)


@asynccontextmanager
async def _audited(
    memory: AsyncMemory, source: str, file: Path, *, owner: str | None
) -> AsyncIterator[Callable[..., None]]:
    """The block in which the import happens; gives what takes the counts of its outcome."""
    if not isinstance(memory._backend, LocalBackend):
        yield lambda **counts: None
        return
    caller = memory._caller
    scope, target = replace(caller.scope, owner=owner), file_target(file) if owner is not None else source
    act = audited(
        caller.database,
        scope,
        action="import_from",
        target=target,
        detail={"source": source},
        keeps_message=False,
    )
    async with act:
        yield act.outcome


def _owner_of(unit: Unit, default: str | None, *, owner_from_source: bool) -> str:
    owner = unit.owner if owner_from_source and unit.owner is not None else default
    if owner is None:
        raise OwnerRequiredError(
            f"The source does not say whose {unit.name} is: name an owner for such records."
        )
    return owner


async def _store(memory: AsyncMemory, unit: Unit, owner: str) -> tuple[Retained | None, list[Skipped]]:
    """Store a unit; returns what became of its items, and what cannot be here as it was there."""
    try:
        scoped = memory.scope(owner=owner)
        retained = await scoped.retain_many(unit.items) if unit.items else None
    except InvalidInputError as error:
        raise InvalidInputError(f"{unit.name}: {error}") from error
    try:
        if unit.and_then is not None:
            await unit.and_then(scoped, retained)
    except (InvalidInputError, NotFoundError) as error:
        return retained, [Skipped(unit.name, str(error))]
    return retained, []


@dataclass
class _Tally:
    """The report while it is made."""

    counts: Counter[str] = field(default_factory=Counter)
    owners: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def done_count(self) -> int:
        """Records that were looked at so far."""
        return self.counts["imported"] + self.counts["known"] + self.counts["skipped"]

    def add(self, unit: Unit, retained: Retained | None, unusable: list[Skipped], owner: str) -> None:
        """Count what became of a unit."""
        skipped = [*unit.skipped, *unusable]
        self.counts["units"] += 1
        if retained is not None:
            skipped += [Skipped(unit.name, refused.reason) for refused in retained.refused]
            self.counts["imported"] += retained.stored_count
            self.counts["known"] += retained.duplicate_count
            self.counts["awaiting"] += retained.awaiting_embedding_count
            if retained.stored_count:
                self.owners[owner] += retained.stored_count
        self.counts["skipped"] += len(skipped)
        self.skipped += skipped[: SKIPPED_KEPT - len(self.skipped)]

    def numbers(self) -> dict[str, int]:
        """What the audit log keeps of it."""
        return {
            "unit_count": self.counts["units"],
            "imported_count": self.counts["imported"],
            "known_count": self.counts["known"],
            "skipped_count": self.counts["skipped"],
            "owner_count": len(self.owners),
        }

    def report(self) -> ImportReport:
        """What is known in the end."""
        return ImportReport(
            unit_count=self.counts["units"],
            imported_count=self.counts["imported"],
            known_count=self.counts["known"],
            skipped_count=self.counts["skipped"],
            awaiting_embedding_count=self.counts["awaiting"],
            owners=dict(self.owners),
            skipped=tuple(self.skipped),
        )
