"""Counts of what each owner holds, kept with their age, so that listing owners costs little.

Counting all rows of a large tenant takes most of a second, and a counter that every write updates would make
writers wait for each other. So no write touches the counts. Events name the owners that changed: when events
get their positions (`mnemic.sequence_events`), the position of an owner's last event is noted in
`traces.owner_counts`. An owner is *changed* while it was counted at another position, *counted* otherwise.

Every hour a job counts the changed owners (`count_changed`). Calls that read the counts first count changed
owners that are small (`count_small`), a bounded number, from the first name on that the call asks for: so the
counts of small owners are current unless very many have changed, and those of large ones have an age.

Counting and storing are two transactions: the rows of `traces.owner_counts` are locked only while the counts
are stored, because readers of events wait for them.
"""

from collections.abc import Sequence

from psycopg.types.json import Jsonb

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase
from mnemic.errors import NotFoundError
from mnemic.events.log import SEQUENCE_MAX, sequence
from mnemic.types.checks import check_choice
from mnemic.types.owner_counts import OWNER_ORDERS, OwnerCounts, OwnerOrder
from mnemic.types.page import check_limit
from mnemic.types.scope import check_name
from mnemic.types.stats import TenantStats

COUNT_EVERY_S = 60 * 60
BATCH_OWNERS = 100
"""Owners that the job counts in one statement."""
SMALL_MAX_MEMORIES = 1_000
"""An owner with more memories is counted by the job only."""
CALL_MAX_ROUNDS = 5
"""How often a call assigns positions to events; after a large import the job notes the rest."""
SMALL_MAX_OWNERS = 50
SMALL_MAX_TOTAL = 5_000
"""Owners, and their memories together, that a call counts before it reads the counts: some milliseconds."""


async def list_owner_counts(
    database: TenantDatabase, *, prefix: str, order: OwnerOrder, after: str, limit: int
) -> list[OwnerCounts]:
    """Owners with their counts, a page at a time; NotFoundError if `after` is not in the list."""
    name = check_choice("order", order, OWNER_ORDERS)
    parameters = {
        "prefix": check_name("prefix", prefix) if prefix != "" else "",
        "after": check_name("after", after) if after != "" else "",
        "limit": check_limit(limit),
        "after_count": None,
        "after_at": None,
    }
    await count_small(database, first=after if after and name == "name" else prefix)
    async with database.transaction() as transaction:
        if after and name != "name":
            cursor = await transaction.first("owner_counts.cursor", parameters)
            if cursor is None:
                raise NotFoundError(f"after: there is no owner {after!r} in this list.")
            parameters |= cursor
        rows = await transaction.rows(f"owner_counts.by_{name}", parameters)
    return [OwnerCounts(**row) for row in rows]


async def read_kept_stats(database: TenantDatabase) -> TenantStats:
    """Counts of the tenant from those of its owners; `counted_at` is the time of the oldest one."""
    await count_small(database)
    async with database.transaction() as transaction:
        return TenantStats(**await transaction.one("owner_counts.totals"))


async def count_small(database: TenantDatabase, *, first: str = "") -> int:
    """Count changed owners that are small, a bounded number, from the name `first` on; returns how many."""
    limits = {
        "first": first,
        "limit": SMALL_MAX_OWNERS,
        "memories_most": SMALL_MAX_MEMORIES,
        "total_most": SMALL_MAX_TOTAL,
    }
    await _note_changes(database, rounds=CALL_MAX_ROUNDS)
    async with database.transaction() as transaction:
        changed = await transaction.rows("owner_counts.changed_small", limits)
    return await _count(database, changed)


async def count_changed(database: TenantDatabase) -> int:
    """Count all changed owners, batch after batch; returns how many."""
    counted, after = 0, ""
    await _note_changes(database, rounds=None)
    while True:
        async with database.transaction() as transaction:
            page = {"after": after, "limit": BATCH_OWNERS}
            changed = await transaction.rows("owner_counts.changed", page)
        if not changed:
            return counted
        counted += await _count(database, changed)
        after = changed[-1]["owner"]


async def _note_changes(database: TenantDatabase, *, rounds: int | None) -> None:
    """Assign positions to new events, which notes their owners.

    Each round is a transaction of its own, because other readers of events wait for it. None: all events.
    """
    done = 0
    while rounds is None or done < rounds:
        async with database.transaction() as transaction:
            if await sequence(transaction) < SEQUENCE_MAX:
                return
        done += 1


async def _count(database: TenantDatabase, changed: Sequence[Row]) -> int:
    """Count these owners and store the counts."""
    if not changed:
        return 0
    owners = [row["owner"] for row in changed]
    asked = {"owners": owners, "positions": [row["changed_position"] for row in changed]}
    async with database.transaction() as transaction:
        await transaction.extend_timeout()
        counts = await transaction.rows("owner_counts.count", asked)
    async with database.transaction() as transaction:
        return await transaction.execute("owner_counts.save", {"owners": owners, "counts": Jsonb(counts)})
