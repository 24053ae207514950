"""Calls of processes that are killed while they retain are stored completely or not at all.

The short test kills clients of one server. With SLOW_TESTS=1 (`make test-slow`) fifty more are killed, each
the only user of its server, every other one together with the server.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from mnemic.db.access import DATABASE_NAME, Access
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from tests.conftest import AppConnection
from tests.embedded.processes import end_everything, wait_until_nothing_runs
from tests.fresh_tenants import Rows
from tests.retain.retaining_process import ITEMS
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
KILLS = 8
SLOW_KILLS = 50
# Long enough for two or three calls.
LATEST_DEATH_S = 2.5
LIFE_LIMIT_S = 300.0

CALLS = """
    SELECT split_part(content, ' ', 2)::int AS call, count(*), count(DISTINCT split_part(content, ' ', 4))
    FROM state.memories
    WHERE tenant_id = %(tenant)s AND content LIKE 'call %%'
    GROUP BY 1
"""
UNFINISHED = """
    SELECT count(*) FROM state.memories AS head
    WHERE tenant_id = %(tenant)s AND chunk_count <> (
        SELECT count(*) FROM state.memories AS chunk
        WHERE chunk.tenant_id = head.tenant_id AND chunk.whole_id = head.whole_id
    )
"""
GAPS_IN_VERSIONS = """
    SELECT count(*) FROM (
        SELECT known.version, row_number() OVER (PARTITION BY memory_id ORDER BY known.version) AS expected
        FROM state.memory_history AS known JOIN state.memories USING (memory_id)
        WHERE memories.tenant_id = %(tenant)s
    ) AS numbered WHERE version <> expected
"""
GAPS_IN_PLACES = """
    SELECT count(*) FROM (
        SELECT "position", row_number() OVER (ORDER BY "position") - 1 AS expected
        FROM state.memories WHERE tenant_id = %(tenant)s AND conversation = 'c'
    ) AS numbered WHERE "position" <> expected
"""
TURNS_COUNTED_WRONG = """
    SELECT count(*) FROM state.conversations AS counted
    WHERE tenant_id = %(tenant)s AND turn_count <> (
        SELECT count(*) FROM state.memories AS turn
        WHERE turn.tenant_id = counted.tenant_id AND turn.conversation = counted.conversation
    )
"""
WITHOUT_VECTOR = """
    SELECT count(*) FROM state.memories
    WHERE tenant_id = %(tenant)s AND NOT EXISTS (
        SELECT FROM vectors.{table} AS vector
        WHERE vector.tenant_id = memories.tenant_id AND vector.memory_id = memories.memory_id
    )
"""
WORKING = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


def let_die(*orders: dict[str, Any]) -> None:
    """Let a process live and die for each of the orders; any other end than the kill fails the test."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.retain.retaining_process"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        input=json.dumps(orders).encode(),
        stdout=subprocess.PIPE,
        timeout=LIFE_LIMIT_S,
        check=True,
    )
    for order, end in zip(orders, json.loads(ended.stdout), strict=True):
        assert end == signal.SIGKILL, Path(order["log"]).read_text()
        assert said(order, "begin"), Path(order["log"]).read_text()


def said(orders: dict[str, Any], word: str) -> set[int]:
    """The numbers of the calls of which a process said this."""
    lines = Path(orders["log"]).read_text()
    return {int(number) for number in re.findall(rf"^{word} (\d+)$", lines, re.MULTILINE)}


def check_what_is_left(rows: Rows, tenant_name: str, begun: set[int], done: set[int]) -> None:
    """Whole calls only, all that were finished among them, with everything that belongs to them."""
    tenant = {"tenant": rows.value("SELECT tenant_id FROM state.tenants WHERE name = %s", tenant_name)}
    left = {int(str(call)): counts for call, *counts in rows.named(CALLS, tenant)}
    assert {call: counts for call, counts in left.items() if counts != [ITEMS, ITEMS]} == {}
    assert done <= set(left) <= begun
    table = rows.value("SELECT table_name FROM mnemic.vector_models WHERE model = 'test:hash-64'")
    for wrong in (
        UNFINISHED,
        GAPS_IN_VERSIONS,
        GAPS_IN_PLACES,
        TURNS_COUNTED_WRONG,
        WITHOUT_VECTOR.format(table=table),
    ):
        assert rows.named(wrong, tenant) == [(0,)], wrong


def test_calls_of_killed_clients_are_stored_completely_or_not_at_all(
    access: Access, admin: AppConnection, tmp_path: Path
) -> None:
    chance = random.Random()
    orders: list[dict[str, Any]] = [
        {
            "conninfo": access.conninfo(),
            "key": access.key.secret.hex(),
            "tenant": f"tenant {number}",
            "first_call": 1,
            "die_after_s": chance.uniform(0, LATEST_DEATH_S),
            "log": str(tmp_path / str(number)),
        }
        for number in range(KILLS)
    ]
    let_die(*orders)
    rows = Rows(admin)
    wait_until(lambda: rows.value(WORKING) == 0, what="the server to notice")
    for order in orders:
        check_what_is_left(rows, order["tenant"], said(order, "begin"), said(order, "done"))


@pytest.fixture
def data_dir(memory_dir: Path) -> Iterator[Path]:
    folder = memory_dir / "killed"
    yield folder
    end_everything(folder)


@pytest.mark.skipif("SLOW_TESTS" not in os.environ, reason="takes minutes: make test-slow")
def test_calls_are_atomic_after_fifty_kills_and_crashes(data_dir: Path, tmp_path: Path) -> None:
    chance = random.Random()
    begun: set[int] = set()
    done: set[int] = set()
    for number in range(SLOW_KILLS):
        orders = {
            "data_dir": str(data_dir),
            "first_call": max(begun, default=0) + 1,
            "die_after_s": chance.uniform(0, LATEST_DEATH_S),
            "kill_server": bool(number % 2),
            "log": str(tmp_path / str(number)),
        }
        let_die(orders)
        wait_until_nothing_runs(data_dir)
        begun |= said(orders, "begin")
        done |= said(orders, "done")
        with EmbeddedServer.start(data_dir) as server:
            conninfo = server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
            with psycopg.connect(conninfo, autocommit=True) as connection:
                check_what_is_left(Rows(connection), "default", begun, done)
    assert len(begun) >= SLOW_KILLS
