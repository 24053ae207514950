"""Arrays of ids as bytes, sent to the database and back."""

from uuid import uuid4

import pytest
from psycopg import sql

from mnemic.db.database import Database
from mnemic.db.id_arrays import IdArray
from mnemic.db.tenancy import Tenant

ECHO = sql.SQL("SELECT %(ids)s AS ids, %(ids)s::text[] AS texts, cardinality(%(ids)s) AS count")


@pytest.mark.parametrize("count", [0, 1, 500])
async def test_ids_are_returned_as_the_keys_that_were_sent(
    database: Database, tenant_a: Tenant, count: int
) -> None:
    ids = [uuid4() for _ in range(count)]
    async with database.transaction(tenant_a) as transaction:
        cursor = await transaction.connection.execute(
            ECHO, {"ids": IdArray(one.bytes for one in ids)}, binary=True
        )
        row = await cursor.fetchone()
    assert row == {"ids": [one.bytes for one in ids], "texts": [str(one) for one in ids], "count": count}


async def test_keys_sort_as_the_database_sorts_ids(database: Database, tenant_a: Tenant) -> None:
    keys = [uuid4().bytes for _ in range(100)]
    query = sql.SQL("SELECT array_agg(id ORDER BY id) AS ids FROM unnest(%(ids)s::uuid[]) AS given (id)")
    async with database.transaction(tenant_a) as transaction:
        cursor = await transaction.connection.execute(query, {"ids": IdArray(keys)}, binary=True)
        assert await cursor.fetchone() == {"ids": sorted(keys)}
