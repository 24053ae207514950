"""The import: stores the batches of a source in a memory and counts the results.

An import is one act in the audit log, with counts. It belongs to the owner, or to no owner if the source
determines the owners; then the audit record does not name the file, because its name may be that of an
owner who is erased later. A memory that speaks to a server writes no audit record: the server logs each of
its calls.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Literal, get_args

from mnemic.adapters.importing.batches import ImportBatch, SkippedRecord
from mnemic.adapters.importing.chatgpt import read_chatgpt
from mnemic.adapters.importing.claude import read_claude
from mnemic.adapters.importing.langgraph import read_langgraph
from mnemic.adapters.importing.mcp_memory import read_mcp_memory
from mnemic.adapters.importing.mem0 import read_mem0
from mnemic.errors import InvalidInputError, NotFoundError, OwnerRequiredError
from mnemic.govern.audit import audited, file_target
from mnemic.sdk.backend import LocalBackend
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.checks import check_choice
from mnemic.types.retained import Retained

SourceName = Literal["mem0", "mcp-memory", "langgraph", "chatgpt", "claude"]
SOURCES: tuple[str, ...] = get_args(SourceName)

SKIPPED_LISTED_MAX = 100
"""Skipped records that a report lists; it counts all of them."""

_READERS: dict[str, Callable[[Path], Iterator[ImportBatch]]] = {
    "mem0": read_mem0,
    "mcp-memory": read_mcp_memory,
    "langgraph": read_langgraph,
    "chatgpt": read_chatgpt,
    "claude": read_claude,
}
assert set(_READERS) == set(SOURCES)


@dataclass(frozen=True)
class ImportReport:
    """The result of an import.

    `batch_count` counts what was stored together: conversations, entities, relations, groups of memories.
    `owners` has the number of new memories by owner. `skipped` lists the first `SKIPPED_LISTED_MAX` records.
    """

    batch_count: int
    imported_count: int
    known_count: int
    skipped_count: int
    awaiting_embedding_count: int
    owners: dict[str, int]
    skipped: tuple[SkippedRecord, ...]


async def import_from(
    memory: AsyncMemory,
    source: SourceName,
    path: str | PathLike[str],
    *,
    owner: str | None = None,
    owner_from_source: bool = False,
    on_progress: Callable[[int], None] = lambda count: None,
) -> ImportReport:
    """Import the memories of another system.

    All records belong to `owner`, or to the memory's owner; with `owner_from_source` to their owner in the
    source, if it names one. Each conversation, entity or batch of memories is stored whole or not at all. An
    error ends the import and names the record; earlier batches stay stored, and a repeated import continues,
    because it recognises known records. `on_progress` gets the number of records that are done.
    """
    check_choice("source", source, SOURCES)
    default = owner if owner is not None else memory.owner
    if default is None and not owner_from_source:
        raise OwnerRequiredError("No owner for the import: name one, or take the owners from the source.")
    builder, file = _ReportBuilder(), Path(path)
    async with _audited(memory, source, file, owner=None if owner_from_source else default) as tell:
        try:
            await _import(memory, _READERS[source](file), builder, default, owner_from_source, on_progress)
        finally:
            tell(**builder.counts_for_audit())
    return builder.build()


async def _import(
    memory: AsyncMemory,
    batches: Iterator[ImportBatch],
    builder: "_ReportBuilder",
    default: str | None,
    owner_from_source: bool,
    on_progress: Callable[[int], None],
) -> None:
    # In a thread: parsing a large record would block the event loop.
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        batch_owner = _owner_of(batch, default, owner_from_source=owner_from_source)
        retained, unusable = await _store(memory, batch, batch_owner)
        builder.add(batch, retained, unusable, batch_owner)
        on_progress(builder.done_count)


@asynccontextmanager
async def _audited(
    memory: AsyncMemory, source: str, file: Path, *, owner: str | None
) -> AsyncIterator[Callable[..., None]]:
    """Audits the block; yields a function that takes the counts of the outcome."""
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


def _owner_of(batch: ImportBatch, default: str | None, *, owner_from_source: bool) -> str:
    owner = batch.owner if owner_from_source and batch.owner is not None else default
    if owner is None:
        raise OwnerRequiredError(
            f"The source names no owner for {batch.name}: name an owner for such records."
        )
    return owner


async def _store(
    memory: AsyncMemory, batch: ImportBatch, owner: str
) -> tuple[Retained | None, list[SkippedRecord]]:
    """Store a batch; returns the result, and records that are not valid in Mnemic."""
    try:
        scoped = memory.scope(owner=owner)
        retained = await scoped.retain_many(batch.items) if batch.items else None
    except InvalidInputError as error:
        raise InvalidInputError(f"{batch.name}: {error}") from error
    try:
        if batch.after_store is not None:
            await batch.after_store(scoped, retained)
    except (InvalidInputError, NotFoundError) as error:
        return retained, [SkippedRecord(batch.name, str(error))]
    return retained, []


@dataclass
class _ReportBuilder:
    """Counts results until the import ends."""

    counts: Counter[str] = field(default_factory=Counter)
    owners: Counter[str] = field(default_factory=Counter)
    skipped: list[SkippedRecord] = field(default_factory=list)

    @property
    def done_count(self) -> int:
        """Records that were read so far."""
        return self.counts["imported"] + self.counts["known"] + self.counts["skipped"]

    def add(
        self, batch: ImportBatch, retained: Retained | None, unusable: list[SkippedRecord], owner: str
    ) -> None:
        """Count the result of a batch."""
        skipped = [*batch.skipped, *unusable]
        self.counts["batches"] += 1
        if retained is not None:
            skipped += [SkippedRecord(batch.name, refused.reason) for refused in retained.refused]
            self.counts["imported"] += retained.stored_count
            self.counts["known"] += retained.duplicate_count
            self.counts["awaiting"] += retained.awaiting_embedding_count
            if retained.stored_count:
                self.owners[owner] += retained.stored_count
        self.counts["skipped"] += len(skipped)
        self.skipped += skipped[: SKIPPED_LISTED_MAX - len(self.skipped)]

    def counts_for_audit(self) -> dict[str, int]:
        """The counts for the audit log."""
        return {
            "batch_count": self.counts["batches"],
            "imported_count": self.counts["imported"],
            "known_count": self.counts["known"],
            "skipped_count": self.counts["skipped"],
            "owner_count": len(self.owners),
        }

    def build(self) -> ImportReport:
        """The report."""
        return ImportReport(
            batch_count=self.counts["batches"],
            imported_count=self.counts["imported"],
            known_count=self.counts["known"],
            skipped_count=self.counts["skipped"],
            awaiting_embedding_count=self.counts["awaiting"],
            owners=dict(self.owners),
            skipped=tuple(self.skipped),
        )
