"""What the server's database holds is read the same through it and beside it, to the last field."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic import AsyncMemory
from mnemic.sdk.http.surface import SURFACE, Route
from mnemic.sdk.http.wire import find_call
from tests.backup.everything import fill
from tests.server.running import RunningServer
from tests.unsteady_engine import Unsteady

READ_WITHOUT_ARGUMENTS = [
    route
    for route in SURFACE
    if route.method == "GET"
    and not route.is_stream
    and not any(parameter.is_required for parameter in find_call(route, AsyncMemory).parameters)
]
CHANGING = frozenset({"log.list", "metrics.overview", "metrics.summary"})
"""Reading them is seen in them, or they depend on the time or the process."""


@pytest.fixture
async def beside_and_through(
    folder: Path, served: RunningServer
) -> AsyncIterator[tuple[AsyncMemory, AsyncMemory]]:
    """Two memories of one tenant that holds something of everything: at the database, and by the server."""
    tenant, engine = f"tenant {uuid4()}", Unsteady()
    key = served.create_key(tenant, "admin").key
    async with (
        AsyncMemory(data_dir=folder, tenant=tenant, owner="alice", embedder=engine) as beside,
        AsyncMemory(served.url, api_key=key, owner="alice") as through,
    ):
        await fill(beside, "alice", "tea", engine)
        yield beside, through


async def test_every_list_is_the_same(beside_and_through: tuple[AsyncMemory, AsyncMemory]) -> None:
    beside, through = beside_and_through
    filled = set[str]()
    for route in READ_WITHOUT_ARGUMENTS:
        there, here = await _read(route, beside), await _read(route, through)
        assert type(there) is type(here), route.call
        if route.call not in CHANGING:
            assert there == here, route.call
        if here:
            filled.add(route.call)
    assert len(filled) > 15, "the comparison has something to compare"


async def test_recall_is_the_same(folder: Path, served: RunningServer) -> None:
    tenant = f"tenant {uuid4()}"
    key = served.create_key(tenant, "read").key
    async with (
        AsyncMemory(data_dir=folder, tenant=tenant, owner="alice", embedder="test") as beside,
        AsyncMemory(served.url, api_key=key, owner="alice") as through,
    ):
        await beside.retain([f"Tea number {number} is green." for number in range(20)], metadata={"a": [0.1]})
        now = datetime.now(UTC)
        there = await beside.recall("green tea", explain=True, as_of=now, at=now)
        here = await through.recall("green tea", explain=True, as_of=now, at=now)
    assert there.hits == here.hits
    assert (there.text, there.confidence, there.counts) == (here.text, here.confidence, here.counts)
    assert len(here) == 10


async def _read(route: Route, memory: AsyncMemory) -> object:
    return await find_call(route, AsyncMemory).run(memory, {})
