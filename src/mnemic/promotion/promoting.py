"""Promote memories to `_global`, and demote them when their evidence goes.

A promoted memory is moved, not copied: an owner has a text once, so that recall shows it once and a
correction reaches it everywhere. The change log records the move with its reason, and can undo it.
`state.promotions` records the channel that the memory came from, the thresholds and what was measured.

States: *promoted* → *demoted*, when it falls below the thresholds of its promotion; it returns to its channel
and may be promoted again. *promoted* → *undone*, when a person has undone the change or moved the memory; it
is then never promoted again. A promoted memory that is forgotten or superseded keeps its promotion: recall
does not find it anyway, and restoring it brings it back as it was.

Running it twice changes nothing: a promoted memory is no candidate any more.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import ChangeConflictError
from mnemic.promotion.thresholds import Thresholds, measured_values
from mnemic.record.changesets import MemoryChange, stage_and_apply
from mnemic.types.page import check_limit
from mnemic.types.promotion import Promotion, PromotionState
from mnemic.types.scope import Scope

GLOBAL_CHANNEL = "_global"
BATCH_ROWS = 500
PROCESS = "mind.promote"

_FIRST_ID = UUID(int=0)


async def promote_memories(
    database: TenantDatabase, thresholds: Thresholds, owner: str | None = None
) -> dict[str, int]:
    """Demote what lost its evidence, then promote what qualifies, of all owners or one; returns counts."""
    counts = {"promoted_count": 0, "demoted_count": 0, "undone_count": 0, "conflict_count": 0}
    async for page in _pages(database, "promotions.promoted", {"owner": owner, "ids": None}):
        for row in filter(_ending, page):
            await _counted(counts, database, partial(_review, memory_id=row["memory_id"]))
    parameters = {**asdict(thresholds), "owner": owner, "ids": None}
    async for page in _pages(database, "promotions.candidates", parameters):
        for name, ids in _by_owner(page).items():
            work = partial(_promote, owner=name, ids=ids, thresholds=thresholds)
            await _counted(counts, database, work)
    return counts


async def list_promotions(
    database: TenantDatabase, scope: Scope, *, before: UUID | None, limit: int
) -> list[Promotion]:
    """The promotions of an owner, newest memories first."""
    parameters = {"owner": scope.require_owner(), "before": before, "limit": check_limit(limit)}
    async with database.transaction() as transaction:
        return [Promotion(**row) for row in await transaction.rows("promotions.list", parameters)]


async def _pages(
    database: TenantDatabase, name: str, parameters: Mapping[str, Any]
) -> AsyncIterator[Sequence[Row]]:
    after = _FIRST_ID
    while True:
        async with database.transaction() as transaction:
            page = await transaction.rows(name, {**parameters, "after": after, "limit": BATCH_ROWS})
        if page:
            yield page
        if len(page) < BATCH_ROWS:
            return
        after = page[-1]["memory_id"]


async def _counted(counts: dict[str, int], database: TenantDatabase, work: Any) -> None:
    """Run one transaction and add its counts. Conflicting changes of others are left to the next run."""
    try:
        done = await database.run(work)
    except ChangeConflictError:
        done = {"conflict_count": 1}
    for name, count in done.items():
        counts[name] += count


async def _promote(
    transaction: Transaction, *, owner: str, ids: Sequence[UUID], thresholds: Thresholds
) -> dict[str, int]:
    """Promote memories of one owner, if they still qualify."""
    parameters = {**asdict(thresholds), "owner": owner, "ids": list(ids), "after": _FIRST_ID}
    rows = await transaction.rows("promotions.candidates", {**parameters, "limit": BATCH_ROWS})
    for channel, found in _by_channel(rows).items():
        changeset_id = await stage_and_apply(
            transaction,
            Scope(owner, channel, PROCESS),
            [_promotion(row) for row in found],
            purpose="promotion",
            reason=f"{len(found)} memories of this channel were useful in several conversations.",
            details={"thresholds": asdict(thresholds)},
        )
        for row in found:
            await transaction.execute("promotions.add", _recorded(row, thresholds, changeset_id))
    return {"promoted_count": len(rows)}


def _ending(row: Row) -> tuple[PromotionState, str] | None:
    """How a promotion ends, and why: a person ended it, or its evidence went; None if it goes on."""
    if row["channel"] != GLOBAL_CHANNEL:
        return "undone", "The memory was moved out of `_global`."
    missed = Thresholds.checked(row["thresholds"]).missed_by(measured_values(row))
    if missed is None or row["status"] != "active" or row["deleted_at"] is not None or row["is_granted"]:
        return None
    return "demoted", f"The evidence for its promotion went: {missed}."


async def _review(transaction: Transaction, *, memory_id: UUID) -> dict[str, int]:
    """End a promotion, if it still has to end."""
    parameters = {"owner": None, "ids": [memory_id], "after": _FIRST_ID, "limit": 1}
    row = await transaction.first("promotions.promoted", parameters)
    if row is None or (ending := _ending(row)) is None:
        return {}
    state, reason = ending
    if state == "demoted":
        await _demote(transaction, row, reason)
    ended = {"owner": row["owner"], "memory_id": memory_id, "state": state, "reason": reason}
    await transaction.execute("promotions.end", ended)
    return {f"{state}_count": 1}


async def _demote(transaction: Transaction, row: Row, reason: str) -> None:
    """Move a memory back to its channel."""
    change = MemoryChange(
        row["memory_id"],
        "demote",
        {"channel": row["origin_channel"]},
        reason,
        signals=measured_values(row),
    )
    scope = Scope(row["owner"], row["origin_channel"], PROCESS)
    await stage_and_apply(transaction, scope, [change], purpose="demotion", reason=reason)


def _promotion(row: Row) -> MemoryChange:
    measured = measured_values(row)
    reason = (
        f"It is certain ({measured['confidence']:g}) and was used {measured['uses']:,} times, "
        f"in {measured['conversations']:,} conversations."
    )
    return MemoryChange(row["memory_id"], "promote", {"channel": GLOBAL_CHANNEL}, reason, signals=measured)


def _recorded(row: Row, thresholds: Thresholds, changeset_id: UUID) -> dict[str, Any]:
    return {
        "memory_id": row["memory_id"],
        "owner": row["owner"],
        "origin_channel": row["channel"],
        "thresholds": as_jsonb_object("thresholds", asdict(thresholds)),
        "measured": as_jsonb_object("measured", measured_values(row)),
        "changeset_id": changeset_id,
    }


def _by_owner(rows: Sequence[Row]) -> dict[str, list[UUID]]:
    found: dict[str, list[UUID]] = defaultdict(list)
    for row in rows:
        found[row["owner"]].append(row["memory_id"])
    return found


def _by_channel(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["channel"]].append(row)
    return found
