"""Memories as of a moment, reconstructed from their versions."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.db.database import Database
from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.opened import opened

START = datetime(2026, 1, 1, tzinfo=UTC)
# When changes happened, in seconds after the start; several may have happened at one moment.
MOMENTS = st.lists(st.integers(0, 20), min_size=1, max_size=8).map(sorted)


@given(moments=MOMENTS)
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
async def test_a_memory_can_be_read_as_of_any_moment(
    shared_database: Database, superuser: AppConnection, moments: list[int]
) -> None:
    tenant = await shared_database.open_tenant(f"tenant {uuid4()}")
    memory = opened(shared_database, tenant, embedder="test")
    (memory_id,) = (await memory.retain("version 1")).memory_ids
    for version in range(2, len(moments) + 1):
        await memory.memories.update(memory_id, content=f"version {version}")
    move_history(superuser, memory, moments)
    for second in range(-1, 22):
        known = await memory.memories.as_of(memory_id, START + timedelta(seconds=second))
        # Of several changes at one moment the last one counts.
        expected = sum(moment <= second for moment in moments)
        assert (known.version if known else 0) == expected
        assert known is None or known.content == f"version {expected}"


def move_history(superuser: AppConnection, memory: AsyncMemory, moments: list[int]) -> None:
    """Let the versions of the tenant's memory have been recorded at these moments."""
    tenant_id = memory.tenant.id
    times = [START + timedelta(seconds=moment) for moment in moments]
    for version, (recorded_at, known_until) in enumerate(pairwise(times), start=1):
        superuser.execute(
            "UPDATE state.memory_versions SET recorded_at = %s, known_until = %s"
            " WHERE tenant_id = %s AND version = %s",
            (recorded_at, known_until, tenant_id, version),
        )
    superuser.execute(
        "UPDATE state.memories SET recorded_at = %s WHERE tenant_id = %s", (times[-1], tenant_id)
    )


async def test_a_forgotten_memory_was_known_before(memory: AsyncMemory) -> None:
    (memory_id,) = (await memory.retain("x")).memory_ids
    known = await memory.memories.get(memory_id)
    forgotten = await memory.memories.forget(memory_id)
    assert await memory.memories.as_of(memory_id, known.recorded_at) == known
    assert await memory.memories.as_of(memory_id, datetime.now(UTC)) == forgotten


async def test_counting_recalls_makes_no_version(memory: AsyncMemory) -> None:
    (memory_id,) = (await memory.retain("x")).memory_ids
    await memory.retain("x")
    (only,) = await memory.memories.history(memory_id)
    assert (only.version, only.reinforcement_count) == (1, 1)


@pytest.mark.parametrize("moment", ["2026-01-01T00:00:00", "now", 5, None], ids=repr)
async def test_a_moment_needs_a_time_zone(memory: AsyncMemory, moment: object) -> None:
    (memory_id,) = (await memory.retain("x")).memory_ids
    with pytest.raises(InvalidInputError, match="moment"):
        await memory.memories.as_of(memory_id, moment)  # type: ignore[arg-type]
