"""Calls on the database and calls through the server return equal results."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic import AsyncMemory
from mnemic.errors import ForbiddenError
from mnemic.sdk.http.surface import SURFACE, Route
from mnemic.sdk.http.wire import find_call
from mnemic.types.stats import TenantStats
from tests.backup.everything import fill
from tests.server.running import RunningServer
from tests.unsteady_engine import Unsteady

READ_WITHOUT_ARGUMENTS = [
    route
    for route in SURFACE
    if route.method == "GET"
    and not route.is_stream
    and not route.returns_file
    and not any(parameter.is_required for parameter in find_call(route, AsyncMemory).parameters)
]
VOLATILE = frozenset({"log.list", "metrics.growth", "metrics.overview", "metrics.series", "metrics.summary"})
"""Results that change with every call, or depend on the time or the process."""


@pytest.fixture
async def local_and_http(
    folder: Path, served: RunningServer
) -> AsyncIterator[tuple[AsyncMemory, AsyncMemory]]:
    """Two memories of one tenant with data in every table: on the database, and through the server."""
    tenant, engine = f"tenant {uuid4()}", Unsteady()
    key = served.create_key(tenant, "admin").key
    async with (
        AsyncMemory(data_dir=folder, tenant=tenant, owner="alice", embedder=engine) as local,
        AsyncMemory(served.url, api_key=key, owner="alice") as http,
    ):
        await fill(local, "alice", "tea", engine)
        yield local, http


async def test_every_list_is_equal(local_and_http: tuple[AsyncMemory, AsyncMemory]) -> None:
    local, http = local_and_http
    filled = set[str]()
    for route in READ_WITHOUT_ARGUMENTS:
        from_local, from_http = await _read(route, local), await _read(route, http)
        assert type(from_local) is type(from_http), route.call
        if isinstance(from_local, TenantStats) and isinstance(from_http, TenantStats):
            from_http = replace(from_http, counted_at=from_local.counted_at)
        if route.call not in VOLATILE:
            assert from_local == from_http, route.call
        if from_http:
            filled.add(route.call)
    assert len(filled) > 15, "most lists must not be empty"


async def test_recall_is_equal(folder: Path, served: RunningServer) -> None:
    tenant = f"tenant {uuid4()}"
    key = served.create_key(tenant, "read").key
    async with (
        AsyncMemory(data_dir=folder, tenant=tenant, owner="alice", embedder="test") as local,
        AsyncMemory(served.url, api_key=key, owner="alice") as http,
    ):
        await local.retain([f"Tea number {number} is green." for number in range(20)], metadata={"a": [0.1]})
        now = datetime.now(UTC)
        from_local = await local.recall("green tea", explain=True, as_of=now, at=now)
        from_http = await http.recall("green tea", explain=True, as_of=now, at=now)
    assert from_local.hits == from_http.hits
    for field in ("text", "confidence", "counts"):
        assert getattr(from_local, field) == getattr(from_http, field), field
    assert len(from_http) == 10


async def _read(route: Route, memory: AsyncMemory) -> object:
    """The result, or why a memory with an owner does not get it."""
    try:
        return await find_call(route, AsyncMemory).run(memory, {})
    except ForbiddenError as error:
        return str(error)
