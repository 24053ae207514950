"""A database with a connection for each of many concurrent writers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from mnemic.db.access import Access
from mnemic.db.database import Database
from tests.conftest import LIMITS, WRITERS

__all__ = ["WRITERS", "wide_database"]


@asynccontextmanager
async def wide_database(access: Access) -> AsyncIterator[Database]:
    """The test's database with a connection for each of WRITERS writers."""
    database = Database(access, replace(LIMITS, pool_size=WRITERS))
    await database.open()
    try:
        yield database
    finally:
        await database.aclose()
