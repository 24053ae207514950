"""The vector index of a large owner: finding, building and dropping it, and searching with and without it.

The vectors of a small owner are compared one by one. An owner with more than `INDEX_MIN_ROWS` gets a
partial HNSW index over its own rows (docs/adr/0010-partial-hnsw-per-large-owner.md). Names of tables and
indexes cannot be parameters, so their SQL is composed, here and, for searching, in the database
(`mnemic.nearest_vectors`). Tenant and owner of a search are parameters, since other users of the same login
can read the text of a running query.

An index is *missing* → *building* → *valid*. A killed build leaves an *invalid* index, which slows down
inserts and is never used: the next build drops it and starts over. Only an administrator's connection
builds and drops, one process of a database at a time, never inside a transaction.

There are two searches: `nearest_exact` compares with every vector of the owner and also returns the
statistics of all cosines; `nearest` uses the index, if there is one, and reads only the nearest vectors.

Every role of the server can read the condition of an index. So it names the tenant by its id and the owner
by a hash, never by name.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

import numpy as np
import psycopg
from psycopg import sql

from mnemic.db.connection import AppConnection, Limits, Row, admin_connection
from mnemic.db.database import Transaction
from mnemic.db.half_vectors import HalfVector
from mnemic.db.machine_memory import memory_mb
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.db.tenancy import Tenant
from mnemic.db.translate import translated
from mnemic.db.vectors import Vectors, VectorTable
from mnemic.errors import ConfigurationError, ConflictError
from mnemic.sql import query

INDEX_MIN_ROWS = 5_000
# An index is kept until its owner has fewer than half as many rows.
INDEX_KEEP_ROWS = INDEX_MIN_ROWS // 2
# Each insert into a model's table tests the condition of each of its indexes.
INDEXES_MAX = 100
NAME_PREFIX = "hnsw_"

BUILD_WORKERS = 2
BUILD_MEMORY_MIN_MB = 64
BUILD_MEMORY_MAX_MB = 2048
BUILD_MEMORY_SHARE = 0.25
"""Share of this machine's memory; the embedded server runs on the same machine."""
# Memory per row of the graph during a build besides its vector: its neighbours, and some reserve.
GRAPH_ROW_BYTES = 1_200
PROGRESS_PAUSE_S = 0.2
LOCK_PAUSE_S = 0.2
DROP_TIMEOUT_S = 30.0

# `hnsw.ef_search`, within bounds: `EF_SEARCH_MAX` for a million memories, and a quarter of that for a tenth
# of the memories. Measured recall of the 10 nearest among uneven vectors (those of `make bench-speed`): .988
# among 10,000 with 60 (.997 with 100, in twice the time), .993 among 100,000 with 300, .955 among a million
# with 1,000 (.87 with 300, .915 with 600).
EF_SEARCH_MIN = 60
EF_SEARCH_MAX = 1_000
EF_SEARCH_MAX_AT = 1_000_000
EF_SEARCH_POWER = 0.6
# `ef_construction` of a build, within bounds. A search misses whole queries rather than single rows: it
# ends in a local optimum, which a larger graph has more of. Among 150,000 vectors, with `ef_search` 80, an
# `ef_construction` of 128 missed 27 of 300 queries, 300 missed 12 (`m` of 24 and 32: 24 and 20). Recall of
# the 10 nearest among a million was .967 with 128 and .984 with 256, one build each. A higher value slows
# down the build, and every later insert.
EF_CONSTRUCTION_MIN = 128
EF_CONSTRUCTION_MIN_AT = 100_000
EF_CONSTRUCTION_MAX = 256
EF_CONSTRUCTION_POWER = 0.3

OnProgress = Callable[[int], None]

# Literals, because the condition of an index cannot have parameters.
_CREATE = sql.SQL(
    "CREATE INDEX CONCURRENTLY {index} ON vectors.{table}"
    " USING hnsw (embedding {vector_schema}.halfvec_cosine_ops)"
    " WITH (m = 16, ef_construction = {ef_construction})"
    " WHERE tenant_id = {tenant} AND hashtextextended(owner, 0) = {owner_hash}"
)
_DROP = sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS vectors.{index}")
_COUNT = sql.SQL(
    "SELECT count(*) AS row_count"
    " FROM (SELECT FROM vectors.{table} WHERE owner = %(owner)s LIMIT %(at_most)s) AS counted"
)
_LARGE_OWNERS = sql.SQL(
    "SELECT owner, count(*) AS row_count FROM vectors.{table}"
    " GROUP BY owner HAVING count(*) > %(above)s ORDER BY count(*) DESC, owner"
)


@dataclass(frozen=True)
class VectorIndex:
    """An existing index; searches use it only if it is valid."""

    name: str
    is_valid: bool
    size_bytes: int


@dataclass(frozen=True)
class OwnerVectorCount:
    """An owner and how many vectors of the model it has."""

    owner: str
    row_count: int


@dataclass(frozen=True)
class CosineStatistics:
    """Mean, standard deviation and number of the cosines between a query and an owner's vectors."""

    mean: float
    deviation: float
    count: int

    @classmethod
    def of(cls, cosines: Sequence[float]) -> "CosineStatistics":
        """Statistics of these cosines, at least one."""
        return cls(float(np.mean(cosines)), float(np.std(cosines)), len(cosines))

    @classmethod
    def from_row(cls, row: Row) -> "CosineStatistics | None":
        """From a row of `mnemic.nearest_vectors`; None if an index was searched."""
        if row["row_count"] is None:
            return None
        return cls(row["mean"] or 0.0, row["deviation"] or 0.0, row["row_count"])

    @classmethod
    def from_sample(cls, row: Row) -> "CosineStatistics | None":
        """From a row of a statement with cosines (`with_cosines`); None without a sample."""
        if not row["sample_count"]:
            return None
        return cls(row["sample_mean"], row["sample_deviation"], row["sample_count"])


@dataclass(frozen=True, eq=False)
class NearestVectors:
    """The nearest memories, best first, with their cosines; `statistics` if all vectors were compared."""

    memory_ids: tuple[UUID, ...]
    cosines: Vectors
    statistics: CosineStatistics | None


def index_name(table_name: str, tenant_id: UUID, owner: str) -> str:
    """Name of the owner's index on a model's table; the index may not exist."""
    key = f"{table_name}\n{tenant_id}\n{owner}"
    return NAME_PREFIX + sha256(key.encode()).hexdigest()[:16]


async def find_index(transaction: Transaction, table: VectorTable, owner: str) -> str | None:
    """Name of the owner's index if it is valid, else None; one look-up by name."""
    name = index_name(table.name, transaction.tenant.id, owner)
    row = await transaction.first("vector_index.state", {"qualified_name": f"vectors.{name}"})
    return name if row is not None and row["is_valid"] else None


async def index_exists(transaction: Transaction, name: str) -> bool:
    """Whether an index of this name exists, valid or not."""
    return await transaction.first("vector_index.state", {"qualified_name": f"vectors.{name}"}) is not None


async def nearest_exact(
    transaction: Transaction, table: VectorTable, owner: str, vector: Vectors, limit: int
) -> NearestVectors:
    """Compare with each vector of the owner, all in one scan."""
    return await _nearest(transaction, table, owner, vector, limit, index=None, ef_search=limit)


async def nearest(
    transaction: Transaction,
    table: VectorTable,
    owner: str,
    vector: Vectors,
    limit: int,
    memory_count: int,
) -> NearestVectors:
    """Search with the owner's index if there is a valid one, else compare with each vector."""
    name = index_name(table.name, transaction.tenant.id, owner)
    wanted = ef_search_for(limit, memory_count)
    return await _nearest(transaction, table, owner, vector, limit, index=name, ef_search=wanted)


async def _nearest(
    transaction: Transaction,
    table: VectorTable,
    owner: str,
    vector: Vectors,
    limit: int,
    *,
    index: str | None,
    ef_search: int,
) -> NearestVectors:
    parameters = {
        "tenant_id": transaction.tenant.id,
        "owner": owner,
        "table": table.name,
        "vector": HalfVector(vector),
        "index_name": index,
        "ef_search": ef_search,
        "limit": limit,
    }
    (row,) = await transaction.binary_rows("vector_index.nearest", parameters)
    return NearestVectors(
        memory_ids=tuple(UUID(bytes=key) for key in row["memory_ids"] or ()),
        cosines=np.array(row["cosines"] or (), dtype=np.float32),
        statistics=CosineStatistics.from_row(row),
    )


async def list_indexes(transaction: Transaction, table: VectorTable) -> list[VectorIndex]:
    """The tenant's indexes on this table, invalid ones included."""
    parameters = {**_on_table(table), "tenant_id": transaction.tenant.id}
    return [VectorIndex(**row) for row in await transaction.rows("vector_index.of_tenant", parameters)]


async def count_vectors(transaction: Transaction, table: VectorTable, owner: str, *, at_most: int) -> int:
    """How many vectors the owner has; counting ends at `at_most`."""
    statement = _COUNT.format(table=sql.Identifier(table.name))
    cursor = await transaction.connection.execute(statement, {"owner": owner, "at_most": at_most})
    return int((await cursor.fetchall())[0]["row_count"])


async def large_owners(transaction: Transaction, table: VectorTable, *, above: int) -> list[OwnerVectorCount]:
    """Owners of the tenant with more vectors than `above`, largest first; reads an index from end to end."""
    statement = _LARGE_OWNERS.format(table=sql.Identifier(table.name))
    cursor = await transaction.connection.execute(statement, {"above": above})
    return [OwnerVectorCount(**row) for row in await cursor.fetchall()]


async def count_indexes(transaction: Transaction, table: VectorTable) -> int:
    """How many indexes the table has, those of all tenants: `INDEXES_MAX` limits their sum."""
    return int((await transaction.one("vector_index.count", _on_table(table)))["index_count"])


async def build_index(
    conninfo: str,
    limits: Limits,
    table: VectorTable,
    tenant: Tenant,
    owner: str,
    *,
    row_count: int,
    on_progress: OnProgress | None = None,
    lock_wait_s: float = 0.0,
) -> float | None:
    """Build the owner's index as administrator; returns the seconds it took, 0.0 if it existed.

    Returns None if another process is building an index and does not finish within `lock_wait_s`. `row_count`
    is the approximate number of vectors, for memory and `ef_construction`; `on_progress` gets the number of
    indexed rows. Raises ConfigurationError if the role lacks the privilege, ConflictError if the table
    has `INDEXES_MAX` indexes.
    """
    name = index_name(table.name, tenant.id, owner)
    with translated():
        async with (
            _administrator(conninfo, limits) as connection,
            _build_lock(connection, lock_wait_s) as ours,
        ):
            if not ours:
                return None
            if await _is_valid_now(connection, name):
                return 0.0
            await _require_room(connection, table)
            statement = await _creation(connection, table, tenant, owner, ef_construction_for(row_count))
            started = time.perf_counter()
            async with _reporting_progress(conninfo, limits, connection.info.backend_pid, on_progress):
                await _create(connection, statement, name, memory_mb=_memory_mb(table, row_count))
            return time.perf_counter() - started


async def drop_index(conninfo: str, limits: Limits, name: str) -> None:
    """Drop an index as administrator, if it exists, without blocking others.

    Raises ConfigurationError if the role lacks the privilege, QueryTimeoutError after `DROP_TIMEOUT_S`.
    """
    with translated():
        async with _administrator(conninfo, limits) as connection:
            parameters = {"timeout_ms": int(DROP_TIMEOUT_S * 1000)}
            await connection.execute(query("vector_index.bound_statements"), parameters)
            await connection.execute(_DROP.format(index=sql.Identifier(name)))


async def may_build(conninfo: str, limits: Limits) -> bool:
    """Whether this role may create and drop indexes."""
    async with admin_connection(conninfo, limits) as connection:
        with translated():
            needs = await _one(connection, "provision.needs")
    return bool(needs["is_definer"] or needs["may_grant_definer"])


def ef_search_for(limit: int, memory_count: int) -> int:
    """`hnsw.ef_search` for a search: higher for more memories, never below `limit`."""
    wanted = EF_SEARCH_MAX * math.pow(memory_count / EF_SEARCH_MAX_AT, EF_SEARCH_POWER)
    return min(max(round(wanted), EF_SEARCH_MIN, limit), EF_SEARCH_MAX)


def ef_construction_for(row_count: int) -> int:
    """`ef_construction` for a build: higher for more rows."""
    wanted = EF_CONSTRUCTION_MIN * math.pow(row_count / EF_CONSTRUCTION_MIN_AT, EF_CONSTRUCTION_POWER)
    return min(max(round(wanted), EF_CONSTRUCTION_MIN), EF_CONSTRUCTION_MAX)


def _on_table(table: VectorTable) -> dict[str, str]:
    return {"qualified_table": f"vectors.{table.name}", "prefix": NAME_PREFIX}


@asynccontextmanager
async def _administrator(conninfo: str, limits: Limits) -> AsyncIterator[AppConnection]:
    """A connection with the privileges of the tables' owner.

    An administrator that is not a superuser joins mnemic_definer for the block, as for a migration.
    """
    async with admin_connection(conninfo, limits) as connection:
        needs = await _one(connection, "provision.needs")
        if needs["is_definer"]:
            yield connection
            return
        if not needs["may_grant_definer"]:
            raise ConfigurationError(
                f"The role {needs['role']!r} may not create or drop the indexes of large owners, as is right "
                "for an application. An administrator can run `mnemic index` with a URL of their own."
            )
        await connection.execute(query("provision.join_definer"))
        try:
            yield connection
        finally:
            if not connection.closed:
                await connection.execute(query("provision.leave_definer"))


@asynccontextmanager
async def _build_lock(connection: AppConnection, wait_s: float) -> AsyncIterator[bool]:
    """Hold the advisory lock of builds for the block; yields False if another session has it after `wait_s`.

    The lock is released explicitly: the server notices a closed connection later than the client, and the
    next build would find the lock taken.
    """
    deadline = time.monotonic() + wait_s
    while not (await _one(connection, "vector_index.try_lock"))["is_ours"]:
        if time.monotonic() >= deadline:
            yield False
            return
        await asyncio.sleep(LOCK_PAUSE_S)
    try:
        yield True
    finally:
        if not connection.closed:
            await connection.execute(query("vector_index.unlock"))


async def _is_valid_now(connection: AppConnection, name: str) -> bool:
    """Whether the index is valid. Drops an invalid one, which a killed build left."""
    cursor = await connection.execute(query("vector_index.state"), {"qualified_name": f"vectors.{name}"})
    row = await cursor.fetchone()
    if row is not None and not row["is_valid"]:
        await connection.execute(_DROP.format(index=sql.Identifier(name)))
    return row is not None and bool(row["is_valid"])


async def _require_room(connection: AppConnection, table: VectorTable) -> None:
    cursor = await connection.execute(query("vector_index.count"), _on_table(table))
    (row,) = await cursor.fetchall()
    if row["index_count"] >= INDEXES_MAX:
        raise ConflictError(
            f"The vectors of {table.model} have {INDEXES_MAX} indexes already, which is the limit: other "
            "large owners are searched without one, exactly and more slowly."
        )


async def _creation(
    connection: AppConnection, table: VectorTable, tenant: Tenant, owner: str, ef_construction: int
) -> sql.Composed:
    values = await _one(connection, "vector_index.creation", {"owner": owner})
    return _CREATE.format(
        index=sql.Identifier(index_name(table.name, tenant.id, owner)),
        table=sql.Identifier(table.name),
        vector_schema=sql.Identifier(values["nspname"]),
        ef_construction=sql.Literal(ef_construction),
        tenant=sql.Literal(tenant.id),
        owner_hash=sql.Literal(values["owner_hash"]),
    )


async def _create(connection: AppConnection, statement: sql.Composed, name: str, *, memory_mb: int) -> None:
    """Run the statement, with parallel workers if memory allows; drop the index if it fails."""
    try:
        try:
            await _tune_build(connection, memory_mb, BUILD_WORKERS)
            await connection.execute(statement)
        except (psycopg.errors.DiskFull, psycopg.errors.OutOfMemory):
            # Parallel workers share the graph in /dev/shm, which has 64 MB in a container by default.
            await connection.execute(_DROP.format(index=sql.Identifier(name)))
            await _tune_build(connection, memory_mb, 0)
            await connection.execute(statement)
    except BaseException:
        # An invalid index would slow down inserts. If the connection is lost, the next build drops it.
        if not connection.closed:
            await connection.execute(_DROP.format(index=sql.Identifier(name)))
        raise


async def _tune_build(connection: AppConnection, memory_mb: int, workers: int) -> None:
    parameters = {"memory_mb": str(memory_mb), "workers": workers}
    await connection.execute(query("vector_index.tune_build"), parameters)


def _memory_mb(table: VectorTable, row_count: int) -> int:
    """`maintenance_work_mem` for the whole graph, within bounds; a build that exceeds it is much slower."""
    needed = row_count * (2 * table.dimensions + GRAPH_ROW_BYTES) >> 20
    most = min(int(memory_mb() * BUILD_MEMORY_SHARE), BUILD_MEMORY_MAX_MB)
    return max(min(needed, most), BUILD_MEMORY_MIN_MB)


@asynccontextmanager
async def _reporting_progress(
    conninfo: str, limits: Limits, pid: int, on_progress: OnProgress | None
) -> AsyncIterator[None]:
    """While the block runs, call `on_progress` with the rows that the backend `pid` has indexed."""
    if on_progress is None:
        yield
        return
    reporting = asyncio.create_task(_report_progress(conninfo, limits, pid, on_progress))
    try:
        yield
    finally:
        await cancel_and_wait(reporting)


async def _report_progress(conninfo: str, limits: Limits, pid: int, on_progress: OnProgress) -> None:
    async with admin_connection(conninfo, limits) as connection:
        while True:
            cursor = await connection.execute(query("vector_index.progress"), {"pid": pid})
            row = await cursor.fetchone()
            if row is not None:
                on_progress(row["tuples_done"])
            await asyncio.sleep(PROGRESS_PAUSE_S)


async def _one(connection: AppConnection, name: str, parameters: dict[str, str] | None = None) -> Row:
    cursor = await connection.execute(query(name), parameters)
    row = await cursor.fetchone()
    assert row is not None, "the query returns one row"
    return row
