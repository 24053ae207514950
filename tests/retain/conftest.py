"""Fixtures of the tests of the write path."""

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest

from mnemic.db.database import TenantDatabase
from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    superuser,
    tenant_database,
)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each transaction of several statements that the test's own task begins.

    Background tasks of this memory and of others begin theirs at any time, so they are not counted. Nor are
    retries after a deadlock with one of them.
    """
    begun: list[object] = []
    begin, run = TenantDatabase.transaction, TenantDatabase.run
    is_retried = ContextVar("is_retried", default=False)

    def count_and_begin(self: TenantDatabase, **options: bool) -> object:
        task = asyncio.current_task()
        if task is not None and _runs_the_test(task) and not is_retried.get():
            begun.append(options)
        return begin(self, **options)

    async def count_and_run(self: TenantDatabase, work: Any, **options: bool) -> Any:
        task = asyncio.current_task()
        if task is not None and _runs_the_test(task):
            begun.append(options)
        token = is_retried.set(True)
        try:
            return await run(self, work, **options)
        finally:
            is_retried.reset(token)

    monkeypatch.setattr(TenantDatabase, "transaction", count_and_begin)
    monkeypatch.setattr(TenantDatabase, "run", count_and_run)
    return begun


def _runs_the_test(task: asyncio.Task[object]) -> bool:
    """Whether a task is the coroutine of a test function."""
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and code.co_name.startswith("test_")
