"""Fixtures of the tests of recall."""

from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from mnemic.db.database import Database
from mnemic.sdk.memory import AsyncMemory
from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    superuser,
    tenant_database,
)
from tests.opened import opened

OpenWith = Callable[..., Awaitable[AsyncMemory]]


@pytest.fixture
def open_with(shared_database: Database) -> OpenWith:
    """Opens alice's memory in a fresh tenant with the models and settings that a test gives."""

    async def open_one(settings: dict[str, Any] | None = None, **options: Any) -> AsyncMemory:
        tenant = await shared_database.open_tenant(f"tenant {uuid4()}")
        return opened(shared_database, tenant, settings=settings, **{"embedder": "test", **options})

    return open_one
