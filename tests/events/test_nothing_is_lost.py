"""Many writers, some of whom roll back, and consumers that are killed: each sees each event once, in order.

In the suite it is a small run; with SLOW_TESTS=1 (`make test-slow`) a long one.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.events.consuming_process import MAKE_SEEN
from tests.many_writers import wide_database
from tests.opened import core_of, opened

WRITERS = 8
CONSUMERS = ["first", "second", "third"]
IS_SLOW = "SLOW_TESTS" in os.environ
WRITES = 500 if IS_SLOW else 25
KILLS = 30 if IS_SLOW else 3
LIFE_S = 0.5
SHARED_KEYS = 5
END_TIMEOUT_S = 300


class RolledBackError(Exception):
    """A writer changed its mind."""


WRITE = """
    INSERT INTO state.state_documents AS kept (tenant_id, owner, key, document, process)
    VALUES (%s, %s, %s, '1', 'test')
    ON CONFLICT (tenant_id, owner, key) DO UPDATE SET version = kept.version + 1
"""


async def write(memory: AsyncMemory, writer: int) -> tuple[set[str], int]:
    """Write documents of its own and documents that all share; returns the own keys and how many events."""
    committed, count = set[str](), 0
    database: Database = core_of(memory).storage.database
    for number in range(WRITES):
        own, shared = f"{writer} {number}", f"shared {random.randrange(SHARED_KEYS)}"
        try:
            async with database.transaction(memory.tenant) as transaction:
                for key in (own, shared):
                    await transaction.connection.execute(WRITE, (memory.tenant.id, "alice", key))
                # Some are long, so that others overtake them.
                await asyncio.sleep(random.choice((0, 0, 0.01)))
                if random.random() < 0.3:
                    raise RolledBackError
        except RolledBackError:
            continue
        committed.add(own)
        count += 2
    return committed, count


async def test_each_consumer_sees_each_committed_event_once(
    access: Access, admin: AppConnection, tmp_path: Path
) -> None:
    admin.execute(MAKE_SEEN)
    async with wide_database(access) as database:
        memory = opened(database, await database.open_tenant("busy"))
        orders = {
            "conninfo": access.conninfo(),
            "key": access.key.secret.hex(),
            "tenant": "busy",
            "consumers": CONSUMERS,
            "kills": KILLS,
            "life_s": LIFE_S,
            "target": str(tmp_path / "target"),
        }
        program = _run(orders)
        written = await asyncio.gather(*(write(memory, writer) for writer in range(WRITERS)))
        count = sum(events for _, events in written)
        (tmp_path / "target.new").write_text(str(count))
        (tmp_path / "target.new").rename(tmp_path / "target")
        output, errors = await asyncio.to_thread(program.communicate, timeout=END_TIMEOUT_S)
    assert program.returncode == 0, errors
    assert json.loads(output)["killed"] == KILLS * len(CONSUMERS)
    _check_seen(admin, count, set().union(*(own for own, _ in written)))


def _run(orders: dict[str, Any]) -> subprocess.Popen[str]:
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.events.consuming_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert program.stdin is not None
    program.stdin.write(json.dumps(orders))
    program.stdin.close()
    program.stdin = None
    return program


def _check_seen(admin: AppConnection, count: int, committed: set[str]) -> None:
    found = admin.execute("SELECT consumer, at_position, subject, data FROM state.seen ORDER BY number")
    seen: dict[str, list[tuple[int, str, dict[str, int]]]] = defaultdict(list)
    for consumer, position, subject, data in found.fetchall():
        seen[str(consumer)].append((position, subject, data))  # type: ignore[arg-type]
    assert sorted(seen) == CONSUMERS
    for events in seen.values():
        assert [position for position, _, _ in events] == list(range(1, count + 1))
        own = {subject for _, subject, _ in events if not subject.startswith("shared")}
        assert own == committed, "nothing of what was rolled back, all of the rest"
        versions: dict[str, list[int]] = defaultdict(list)
        for _, subject, data in events:
            versions[subject].append(data["version"])
        for subject, numbers in versions.items():
            assert numbers == list(range(1, len(numbers) + 1)), f"{subject} in the order of its changes"


@pytest.mark.parametrize("movers", [4])
async def test_several_movers_at_once_give_each_event_one_position(access: Access, movers: int) -> None:
    async with wide_database(access) as database:
        memory = opened(database, await database.open_tenant("busy"))
        writing = asyncio.gather(*(write(memory, writer) for writer in range(4)))
        reading = [asyncio.create_task(_read_until(memory, writing)) for _ in range(movers)]
        seen = await asyncio.gather(*reading)
    count = sum(events for _, events in await writing)
    assert seen == [list(range(1, count + 1))] * movers


async def _read_until(memory: AsyncMemory, writing: "asyncio.Future[Any]") -> list[int]:
    positions: list[int] = []
    while True:
        is_last = writing.done()
        events = await memory.events.list(after=positions[-1] if positions else 0, limit=7)
        positions += [event.position for event in events]
        if is_last and not events:
            return positions
