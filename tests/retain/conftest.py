"""Fixtures of the tests of the write path."""

import asyncio

import pytest

from mnemic.db.database import TenantDatabase
from tests.conftest import TASKS_OF_MEMORIES
from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    superuser,
    tenant_database,
)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each transaction of several statements that a call begins.

    Background tasks begin theirs at any time, so they are not counted.
    """
    begun: list[object] = []
    begin = TenantDatabase.transaction

    def count_and_begin(self: TenantDatabase, **options: bool) -> object:
        task = asyncio.current_task()
        if task is None or not task.get_name().startswith(TASKS_OF_MEMORIES):
            begun.append(options)
        return begin(self, **options)

    monkeypatch.setattr(TenantDatabase, "transaction", count_and_begin)
    return begun
