"""A run of the curator: read candidates, classify them, stage the proposals in one changeset.

A run reads a bounded number of memories, in pages, from where the last one stopped. The changeset and the
cursor are committed together, so a run that is killed leaves nothing and is repeated. Nothing is proposed
twice: open proposals, and rejected or undone ones of a memory that has not changed since, are left out. A dry
run does the same and rolls back.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from mnemic.curation.candidates import PAGE_ROWS, Candidate, read_candidates
from mnemic.curation.classify import MERGED_REASON, Proposal, classify, merged, merged_fields
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.record.change_log import read_diff
from mnemic.record.changesets import MemoryChange, stage
from mnemic.record.near_duplicates import compare_pending
from mnemic.types.curation import ChangesetDiff, CurationRun
from mnemic.types.memory import MemoryRecord
from mnemic.types.scope import Scope

CANDIDATES_MAX = 20_000
"""Memories that one run reads; the next run continues."""
PROPOSALS_MAX = 200
"""Proposals of one run: people decide about them."""
OPEN_CHANGES_MAX = 500
"""With so many changes waiting for a decision, a run proposes nothing more."""
REASON = "The curator read the memories of this owner and proposes these changes."


class _DryRun(Exception):
    """Rolls the transaction of a dry run back."""


@dataclass
class _Reading:
    """What a run has read and proposes so far."""

    after_id: UUID | None
    read_count: int = 0
    is_complete: bool = False
    proposals: list[Proposal] = field(default_factory=list)
    retired_ids: set[UUID] = field(default_factory=set)
    kept: dict[UUID, MemoryRecord] = field(default_factory=dict)


async def propose(
    database: TenantDatabase, scope: Scope, *, kinds: Collection[str], limit: int, dry_run: bool
) -> CurationRun:
    """Stage proposals of these kinds, at most `limit`; with `dry_run` only show them."""
    owner = scope.require_owner()
    await compare_pending(database, owner=owner)
    async with database.transaction() as transaction:
        start = await transaction.one("curation.cursor", {"owner": owner})
    if start["open_count"] >= OPEN_CHANGES_MAX:
        note = f"{start['open_count']} changes wait for a decision: approve or reject some first."
        return CurationRun(None, 0, {}, 0, False, dry_run, (), note, (note,))
    reading = await _read(database, owner, start["after_id"], kinds, limit)
    diff = await _stage(database, scope, reading, dry_run=dry_run)
    return _run(reading, diff, is_dry_run=dry_run)


async def _read(
    database: TenantDatabase, owner: str, after_id: UUID | None, kinds: Collection[str], limit: int
) -> _Reading:
    reading = _Reading(after_id)
    now = datetime.now(UTC)
    while reading.read_count < CANDIDATES_MAX and len(reading.proposals) < limit:
        async with database.transaction() as transaction:
            page, others = await read_candidates(transaction, owner, reading.after_id)
        for candidate in page:
            if len(reading.proposals) == limit:
                return reading
            _consider(reading, candidate, others, kinds, now)
        if len(page) < PAGE_ROWS:
            reading.after_id, reading.is_complete = None, True
            return reading
        await asyncio.sleep(0)  # Classifying takes CPU time: let other calls go on.
    return reading


def _consider(
    reading: _Reading,
    candidate: Candidate,
    others: Mapping[UUID, MemoryRecord],
    kinds: Collection[str],
    now: datetime,
) -> None:
    """Classify one candidate. A memory that takes the place of another one in this run is kept."""
    memory_id = candidate.memory.memory_id
    reading.read_count += 1
    reading.after_id = memory_id
    proposal = classify(candidate, others, now) if memory_id not in reading.kept else None
    if proposal is None or proposal.kind not in kinds or proposal.kept_id in reading.retired_ids:
        return
    if proposal.kept_id is not None:
        proposal = _with_kept(reading, proposal, candidate.memory, others[proposal.kept_id])
    reading.retired_ids.add(memory_id)
    reading.proposals.append(proposal)


def _with_kept(reading: _Reading, proposal: Proposal, retired: MemoryRecord, kept: MemoryRecord) -> Proposal:
    """A merge also gives the kept memory the tags and evidence of both, unless it is anchored."""
    before = reading.kept.setdefault(kept.memory_id, kept)
    fields = merged_fields(before, retired) if proposal.kind == "merge" else {}
    if not fields:
        return proposal
    reading.kept[kept.memory_id] = merged(before, retired)
    change = MemoryChange(kept.memory_id, "merge", fields, MERGED_REASON, evidence=(retired.memory_id,))
    return Proposal("merge", (*proposal.changes, change), proposal.versions, kept.memory_id)


async def _stage(
    database: TenantDatabase, scope: Scope, reading: _Reading, *, dry_run: bool
) -> ChangesetDiff | None:
    """Commit the cursor and the changeset; None if there is nothing to propose."""
    shown: list[ChangesetDiff] = []

    async def write(transaction: Transaction) -> None:
        shown.clear()
        owner = scope.require_owner()
        await transaction.execute("curation.move_cursor", {"owner": owner, "after_id": reading.after_id})
        reading.proposals = await _still_valid(transaction, owner, reading.proposals)
        changes = [change for proposal in reading.proposals for change in proposal.changes]
        if changes:
            details = {"read_count": reading.read_count, "is_complete": reading.is_complete}
            changeset_id = await stage(
                transaction, scope, changes, purpose="curation", reason=REASON, details=details
            )
            shown.append(await read_diff(transaction, owner, changeset_id, after=None, limit=len(changes)))
        if dry_run:
            raise _DryRun

    with suppress(_DryRun):
        await database.run(write)
    return shown[0] if shown else None


async def _still_valid(transaction: Transaction, owner: str, proposals: list[Proposal]) -> list[Proposal]:
    """Leave out proposals whose memories have changed, or that another run has made meanwhile."""
    wanted = [
        (memory_id, version, proposal.kind)
        for proposal in proposals
        for memory_id, version in proposal.versions.items()
    ]
    parameters = {
        "owner": owner,
        "ids": [memory_id for memory_id, _, _ in wanted],
        "versions": [version for _, version, _ in wanted],
        "kinds": [kind for _, _, kind in wanted],
    }
    rows = await transaction.rows("curation.unchanged", parameters) if wanted else []
    unchanged = {row["memory_id"] for row in rows}
    return [proposal for proposal in proposals if unchanged.issuperset(proposal.versions)]


def _run(reading: _Reading, diff: ChangesetDiff | None, *, is_dry_run: bool) -> CurationRun:
    counts = Counter[str](proposal.kind for proposal in reading.proposals)
    counts["keep"] = reading.read_count - len(reading.proposals)
    return CurationRun(
        changeset_id=diff.changeset.changeset_id if diff is not None and not is_dry_run else None,
        read_count=reading.read_count,
        counts=dict(counts),
        applied_count=0,
        is_complete=reading.is_complete,
        is_dry_run=is_dry_run,
        changes=diff.changes if diff is not None else (),
        text=diff.text if diff is not None else "There is nothing to propose.",
    )
