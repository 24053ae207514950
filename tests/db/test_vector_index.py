"""The vector index of a large owner: building, finding, searching and dropping it; and exact search."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from mnemic.db import vector_index
from mnemic.db.access import Access
from mnemic.db.connection import AppConnection as AsyncAppConnection
from mnemic.db.connection import Limits, admin_connection
from mnemic.db.database import Database, Transaction
from mnemic.db.tenancy import Tenant
from mnemic.db.vector_index import (
    CosineStatistics,
    build_index,
    count_indexes,
    count_vectors,
    drop_index,
    ef_construction_for,
    find_index,
    large_owners,
    list_indexes,
    may_build,
    nearest,
    nearest_exact,
)
from mnemic.db.vectors import VectorTable
from mnemic.errors import ConfigurationError, ConflictError
from tests.conftest import LIMITS, AppConnection
from tests.many_vectors import Filled, clustered, give_vectors
from tests.waiting import wait_for

OWNER = 'o\'brien 100%s \\ {x} "q"'
ROWS = 600

STATE = "SELECT indisvalid FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relname LIKE 'hnsw%'"
INVALIDATE = """
    SET allow_system_table_mods = on;
    UPDATE pg_index SET indisvalid = false FROM pg_class WHERE oid = indexrelid AND relname LIKE 'hnsw%'
"""
MEMBERS = """
    SELECT to_jsonb(pg_auth_members) - 'oid' FROM pg_auth_members
    WHERE roleid = 'mnemic_definer'::regrole ORDER BY 1
"""


@pytest.fixture
async def filled(database: Database, tenant_a: Tenant) -> Filled:
    return await give_vectors(database, tenant_a, OWNER, clustered(ROWS, seed=1))


@pytest.fixture
def countable_scans(admin: AppConnection) -> None:
    """Lets the application count its scans, which is withheld from it (mnemic.withhold_activity)."""
    admin.execute("GRANT EXECUTE ON FUNCTION pg_stat_get_xact_numscans TO mnemic_app")


async def build(admin_conninfo: str, table: VectorTable, tenant: Tenant, owner: str = OWNER) -> float | None:
    return await build_index(admin_conninfo, LIMITS, table, tenant, owner, row_count=ROWS)


async def found(database: Database, tenant: Tenant, table: VectorTable, owner: str = OWNER) -> str | None:
    async with database.transaction(tenant) as transaction:
        return await find_index(transaction, table, owner)


async def test_an_index_is_for_one_owner_of_one_tenant(
    database: Database, tenant_a: Tenant, tenant_b: Tenant, filled: Filled, admin_conninfo: str
) -> None:
    assert await found(database, tenant_a, filled.table) is None
    seconds = await build(admin_conninfo, filled.table, tenant_a)
    assert seconds is not None
    assert seconds > 0
    name = await found(database, tenant_a, filled.table)
    assert name is not None
    assert (name[:5], len(name)) == ("hnsw_", 21)
    assert await found(database, tenant_a, filled.table, "another owner") is None
    assert await found(database, tenant_b, filled.table) is None


async def test_each_tenant_lists_its_own_indexes(
    database: Database, tenant_a: Tenant, tenant_b: Tenant, filled: Filled, admin_conninfo: str
) -> None:
    await build(admin_conninfo, filled.table, tenant_a)
    async with database.transaction(tenant_a) as transaction:
        (index,) = await list_indexes(transaction, filled.table)
        assert await count_indexes(transaction, filled.table) == 1
    assert (index.is_valid, index.size_bytes > 0) == (True, True)
    assert index.name == await found(database, tenant_a, filled.table)
    async with database.transaction(tenant_b) as transaction:
        assert await list_indexes(transaction, filled.table) == []
        assert await count_indexes(transaction, filled.table) == 1


async def test_building_again_does_nothing(
    database: Database, tenant_a: Tenant, filled: Filled, admin_conninfo: str
) -> None:
    await build(admin_conninfo, filled.table, tenant_a)
    assert await build(admin_conninfo, filled.table, tenant_a) == 0.0


async def test_dropping_an_index_twice_is_harmless(
    database: Database, tenant_a: Tenant, filled: Filled, admin_conninfo: str, admin: AppConnection
) -> None:
    await build(admin_conninfo, filled.table, tenant_a)
    name = await found(database, tenant_a, filled.table)
    assert name is not None
    await drop_index(admin_conninfo, LIMITS, name)
    await drop_index(admin_conninfo, LIMITS, name)
    assert admin.execute(STATE).fetchall() == []


async def test_vectors_of_owners_are_counted(database: Database, tenant_a: Tenant, filled: Filled) -> None:
    await give_vectors(database, tenant_a, "small", clustered(3, seed=2))
    async with database.transaction(tenant_a) as transaction:
        large = await large_owners(transaction, filled.table, above=2)
        assert [(each.owner, each.row_count) for each in large] == [(OWNER, ROWS), ("small", 3)]
        assert [each.owner for each in await large_owners(transaction, filled.table, above=3)] == [OWNER]
        assert await count_vectors(transaction, filled.table, "small", at_most=10) == 3
        assert await count_vectors(transaction, filled.table, OWNER, at_most=10) == 10


async def test_exact_search_returns_the_nearest_and_the_cosine_statistics(
    database: Database, tenant_a: Tenant, tenant_b: Tenant, filled: Filled
) -> None:
    await give_vectors(database, tenant_a, "another owner", clustered(50, seed=3))
    await give_vectors(database, tenant_b, OWNER, clustered(50, seed=4))
    query = clustered(1, seed=5)[0]
    async with database.transaction(tenant_a) as transaction:
        nearest = await nearest_exact(transaction, filled.table, OWNER, query, 10)
    cosines = filled.vectors @ query / np.linalg.norm(filled.vectors, axis=1) / np.linalg.norm(query)
    best = np.argsort(-cosines)[:10]
    assert nearest.memory_ids == tuple(filled.ids[place] for place in best)
    assert np.allclose(nearest.cosines, cosines[best], atol=1e-5)
    assert nearest.cosines.dtype == np.float32
    assert nearest.statistics is not None
    assert nearest.statistics.count == ROWS
    usual = (nearest.statistics.mean, nearest.statistics.deviation)
    assert np.allclose(usual, (cosines.mean(), cosines.std()), atol=1e-5)


async def test_an_owner_without_vectors_has_no_nearest(
    database: Database, tenant_a: Tenant, filled: Filled
) -> None:
    query = clustered(1, seed=5)[0]
    async with database.transaction(tenant_a) as transaction:
        exact = await nearest_exact(transaction, filled.table, "nobody", query, 10)
    assert (exact.memory_ids, len(exact.cosines)) == ((), 0)
    assert exact.statistics == CosineStatistics(0.0, 0.0, 0)


async def test_index_search_agrees_with_exact_search(
    database: Database, tenant_a: Tenant, filled: Filled, admin_conninfo: str
) -> None:
    await build(admin_conninfo, filled.table, tenant_a)
    await give_vectors(database, tenant_a, OWNER, clustered(ROWS, seed=6))  # Inserted after it was built.
    shares = []
    async with database.transaction(tenant_a) as transaction:
        for query in clustered(20, seed=7):
            exact = await nearest_exact(transaction, filled.table, OWNER, query, 10)
            indexed = await nearest(transaction, filled.table, OWNER, query, 10, 2 * ROWS)
            assert indexed.statistics is None, "the index was used"
            shares.append(len({*exact.memory_ids} & {*indexed.memory_ids}) / 10)
            assert list(indexed.cosines) == sorted(indexed.cosines, reverse=True)
    assert np.mean(shares) >= 0.95


async def test_the_limit_may_exceed_ef_search(
    database: Database, tenant_a: Tenant, filled: Filled, admin_conninfo: str
) -> None:
    await build(admin_conninfo, filled.table, tenant_a)
    query = clustered(1, seed=5)[0]
    async with database.transaction(tenant_a) as transaction:
        found = await nearest(transaction, filled.table, OWNER, query, 300, ROWS)
    assert len(set(found.memory_ids)) == 300


@pytest.mark.usefixtures("countable_scans")
async def test_a_search_reads_only_the_owners_index(
    database: Database, tenant_a: Tenant, filled: Filled, admin_conninfo: str
) -> None:
    await give_vectors(database, tenant_a, "another owner", clustered(ROWS, seed=3))
    await build(admin_conninfo, filled.table, tenant_a)
    name = await found(database, tenant_a, filled.table)
    assert name is not None
    vector = clustered(1, seed=5)[0]
    async with database.transaction(tenant_a) as transaction:
        await nearest(transaction, filled.table, OWNER, vector, 100, ROWS)
        assert await scans_of(transaction, name) == 1
        await nearest(transaction, filled.table, "another owner", vector, 100, ROWS)
        assert await scans_of(transaction, name) == 1


@pytest.mark.usefixtures("countable_scans")
async def test_repeated_searches_of_several_owners_use_the_index(
    database: Database, tenant_a: Tenant, filled: Filled, admin_conninfo: str
) -> None:
    await build(admin_conninfo, filled.table, tenant_a)
    name = await found(database, tenant_a, filled.table)
    assert name is not None
    vector = clustered(1, seed=5)[0]
    async with database.transaction(tenant_a) as transaction:
        for _ in range(8):
            await nearest(transaction, filled.table, "another owner", vector, 10, ROWS)
            await nearest(transaction, filled.table, OWNER, vector, 10, ROWS)
        assert await scans_of(transaction, name) == 8


async def scans_of(transaction: Transaction, index: str) -> int:
    """Number of index scans of this transaction; needs `countable_scans`."""
    statement = "SELECT pg_stat_get_xact_numscans(%s::text::regclass) AS scans"
    cursor = await transaction.connection.execute(statement, [f"vectors.{index}"])
    (row,) = await cursor.fetchall()
    return int(row["scans"])


async def test_an_invalid_index_of_a_killed_build_is_rebuilt(
    database: Database, tenant_a: Tenant, filled: Filled, admin_conninfo: str, admin: AppConnection
) -> None:
    await build(admin_conninfo, filled.table, tenant_a)
    admin.execute(INVALIDATE)
    assert await found(database, tenant_a, filled.table) is None
    seconds = await build(admin_conninfo, filled.table, tenant_a)
    assert seconds is not None
    assert seconds > 0
    assert await found(database, tenant_a, filled.table) is not None
    assert admin.execute(STATE).fetchall() == [(True,)]


@contextmanager
def writing(admin_conninfo: str, table: VectorTable) -> Iterator[AppConnection]:
    """An uncommitted write to the table, for which a build has to wait."""
    with psycopg.connect(admin_conninfo) as writer:
        writer.execute(f"DELETE FROM vectors.{table.name} WHERE false".encode())
        yield writer
        writer.rollback()


async def test_a_cancelled_build_leaves_no_index(
    database: Database, tenant_a: Tenant, filled: Filled, admin_conninfo: str, admin: AppConnection
) -> None:
    with writing(admin_conninfo, filled.table) as writer:
        building = asyncio.create_task(build(admin_conninfo, filled.table, tenant_a))
        await wait_for(lambda: admin.execute(STATE).fetchall() == [(False,)], what="the build to begin")
        building.cancel()
        await wait_for(lambda: _drops(admin), what="the build to clean up")
        writer.rollback()
        with pytest.raises(asyncio.CancelledError):
            await building
    assert admin.execute(STATE).fetchall() == []


def _drops(admin: AppConnection) -> bool:
    return bool(
        admin.execute(
            "SELECT FROM pg_stat_activity WHERE query LIKE 'DROP INDEX%' AND datname = current_database()"
        ).fetchall()
    )


async def test_one_process_builds_at_a_time(
    database: Database, tenant_a: Tenant, filled: Filled, admin_conninfo: str, admin: AppConnection
) -> None:
    await give_vectors(database, tenant_a, "bob", clustered(50, seed=2))
    with writing(admin_conninfo, filled.table) as writer:
        first = asyncio.create_task(build(admin_conninfo, filled.table, tenant_a))
        await wait_for(lambda: admin.execute(STATE).fetchall() == [(False,)], what="the build to begin")
        assert await build(admin_conninfo, filled.table, tenant_a, "bob") is None
        second = asyncio.create_task(
            build_index(admin_conninfo, LIMITS, filled.table, tenant_a, "bob", row_count=50, lock_wait_s=30)
        )
        writer.rollback()
    assert [seconds is not None and seconds > 0 for seconds in await asyncio.gather(first, second)] == [
        True
    ] * 2
    assert admin.execute(STATE).fetchall() == [(True,), (True,)]


async def test_progress_is_reported(
    database: Database, tenant_a: Tenant, filled: Filled, admin_conninfo: str, admin: AppConnection
) -> None:
    reported: list[int] = []
    with writing(admin_conninfo, filled.table) as writer:
        building = asyncio.create_task(
            build_index(
                admin_conninfo,
                LIMITS,
                filled.table,
                tenant_a,
                OWNER,
                row_count=ROWS,
                on_progress=reported.append,
            )
        )
        await wait_for(lambda: bool(reported), what="progress")
        writer.rollback()
        await building
    assert all(0 <= done <= ROWS for done in reported)


async def test_a_build_releases_its_lock_before_its_connection_has_ended(
    database: Database,
    tenant_a: Tenant,
    filled: Filled,
    admin_conninfo: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The server notices a closed connection later than the client: here, when the test ends.
    async with AsyncExitStack() as at_the_end:

        @asynccontextmanager
        async def kept_open(conninfo: str, limits: Limits) -> AsyncIterator[AsyncAppConnection]:
            yield await at_the_end.enter_async_context(admin_connection(conninfo, limits))

        monkeypatch.setattr(vector_index, "admin_connection", kept_open)
        assert await build(admin_conninfo, filled.table, tenant_a) is not None
        assert await build(admin_conninfo, filled.table, tenant_a, "bob") is not None


async def test_the_number_of_indexes_of_a_table_is_limited(
    database: Database,
    tenant_a: Tenant,
    filled: Filled,
    admin_conninfo: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vector_index, "INDEXES_MAX", 1)
    await build(admin_conninfo, filled.table, tenant_a)
    with pytest.raises(ConflictError, match="1 indexes already"):
        await build(admin_conninfo, filled.table, tenant_a, "bob")
    assert await build(admin_conninfo, filled.table, tenant_a) == 0.0


async def test_the_applications_login_may_not_build_or_drop(
    database: Database, tenant_a: Tenant, filled: Filled, access: Access, admin: AppConnection
) -> None:
    assert not await may_build(access.conninfo(), LIMITS)
    with pytest.raises(ConfigurationError, match="mnemic index"):
        await build(access.conninfo(), filled.table, tenant_a)
    with pytest.raises(ConfigurationError, match="mnemic index"):
        await drop_index(access.conninfo(), LIMITS, "hnsw_0")
    assert admin.execute(STATE).fetchall() == []


@pytest.fixture
def plain_administrator(admin: AppConnection, admin_conninfo: str) -> Iterator[str]:
    """An administrator without superuser who may join the tables' owner, as on managed servers."""
    # Before PostgreSQL 16 an administrator of a role can always become it.
    options = (
        "ADMIN TRUE, INHERIT FALSE, SET FALSE" if admin.info.server_version >= 160_000 else "ADMIN OPTION"
    )
    admin.execute(
        "CREATE ROLE plain_administrator LOGIN CREATEROLE;"
        f"GRANT mnemic_definer TO plain_administrator WITH {options}".encode()
    )
    yield make_conninfo(admin_conninfo, user="plain_administrator")
    admin.execute("DROP OWNED BY plain_administrator; DROP ROLE plain_administrator")


async def test_an_administrator_without_superuser_builds_and_keeps_no_privileges(
    database: Database, tenant_a: Tenant, filled: Filled, plain_administrator: str, admin: AppConnection
) -> None:
    before = admin.execute(MEMBERS).fetchall()
    assert await may_build(plain_administrator, LIMITS)
    await build(plain_administrator, filled.table, tenant_a)
    name = await found(database, tenant_a, filled.table)
    assert name is not None
    assert admin.execute(MEMBERS).fetchall() == before
    await drop_index(plain_administrator, LIMITS, name)
    assert admin.execute(MEMBERS).fetchall() == before
    assert admin.execute(STATE).fetchall() == []


async def test_without_shared_memory_a_build_uses_no_parallel_workers(
    database: Database,
    tenant_a: Tenant,
    filled: Filled,
    admin_conninfo: str,
    admin: AppConnection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[int] = []
    tune = vector_index._tune_build

    async def noted(connection: AppConnection, memory_mb: int, workers: int) -> None:
        tried.append(workers)
        await tune(connection, memory_mb, workers)  # type: ignore[arg-type]

    monkeypatch.setattr(vector_index, "_tune_build", noted)
    monkeypatch.setattr(vector_index, "_memory_mb", lambda table, row_count: 2_000_000)
    admin.execute(f"ALTER TABLE vectors.{filled.table.name} SET (parallel_workers = 2)".encode())
    await build(admin_conninfo, filled.table, tenant_a)
    assert tried == [vector_index.BUILD_WORKERS, 0]
    assert await found(database, tenant_a, filled.table) is not None


async def test_an_index_does_not_contain_its_owners_name(
    tenant_a: Tenant, filled: Filled, admin_conninfo: str, admin: AppConnection
) -> None:
    await build(admin_conninfo, filled.table, tenant_a)
    shown = admin.execute(
        b"SELECT string_agg(indexdef, ' ') AS shown FROM pg_indexes WHERE schemaname = 'vectors'"
    )
    text = str(shown.fetchall()[0])
    assert "hashtextextended" in text
    assert OWNER not in text


def test_ef_construction_grows_with_the_rows_within_bounds() -> None:
    assert [ef_construction_for(rows) for rows in (5_001, 100_000, 1_000_000, 10_000_000)] == [
        128,
        128,
        255,
        256,
    ]


async def test_ef_construction_of_an_index_follows_its_row_count(
    tenant_a: Tenant, filled: Filled, admin_conninfo: str, admin: AppConnection
) -> None:
    await build_index(admin_conninfo, LIMITS, filled.table, tenant_a, OWNER, row_count=2_000_000)
    built = admin.execute(b"SELECT reloptions FROM pg_class WHERE relname LIKE 'hnsw_%'").fetchall()
    assert "ef_construction=256" in str(built)
