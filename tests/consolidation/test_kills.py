"""A pass of consolidation that is killed at any time loses nothing and stores nothing twice.

In the suite a few passes are killed; with SLOW_TESTS=1 (`make test-slow`) fifty.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

from mnemic.db.access import Access
from mnemic.db.database import Database
from tests.conftest import AppConnection
from tests.fresh_tenants import Rows
from tests.opened import opened

ROOT = Path(__file__).resolve().parents[2]
IS_SLOW = "SLOW_TESTS" in os.environ
KILLS = 50 if IS_SLOW else 3
CONVERSATIONS, TURNS = 20 if IS_SLOW else 6, 70
LATEST_DEATH_S = 0.9
LIFE_LIMIT_S = 300.0

COUNTS = """
    SELECT
        (SELECT count(*) FROM state.statements WHERE tenant_id = %(tenant)s),
        (SELECT count(DISTINCT value_key) FROM state.statements WHERE tenant_id = %(tenant)s),
        (
            SELECT count(*) FROM state.memories
            WHERE tenant_id = %(tenant)s AND tags = '{}' AND source = 'extracted'
        ),
        (SELECT count(*) FROM state.extraction_runs WHERE tenant_id = %(tenant)s),
        (
            SELECT count(*) FROM state.memories
            WHERE tenant_id = %(tenant)s AND tags @> '{summary}' AND status = 'active'
        )
"""
HALF = """
    SELECT count(*) FROM state.statements AS stored
    WHERE stored.tenant_id = %(tenant)s AND NOT EXISTS (
        SELECT FROM state.statement_sources AS sources JOIN state.extraction_runs AS runs
            ON runs.tenant_id = sources.tenant_id AND runs.memory_id = sources.source_id
        WHERE sources.tenant_id = stored.tenant_id AND sources.memory_id = stored.memory_id
    )
"""


def let_die(access: Access, tenant: str, count: int) -> list[int]:
    """Let passes be killed after random times; returns how each ended."""
    chance = random.Random()
    order = {"conninfo": access.conninfo(), "key": access.key.secret.hex(), "tenant": tenant}
    orders = [{**order, "die_after_s": chance.uniform(0, LATEST_DEATH_S)} for _ in range(count)]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.consolidation.consolidating_process"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        input=json.dumps(orders).encode(),
        stdout=subprocess.PIPE,
        timeout=LIFE_LIMIT_S,
        check=True,
    )
    ends: list[int] = json.loads(ended.stdout)
    return ends


async def test_killed_passes_lose_nothing_and_store_nothing_twice(
    database: Database, access: Access, admin: AppConnection
) -> None:
    tenant = await database.open_tenant("killed")
    memory = opened(database, tenant, embedder="test")
    for conversation in range(CONVERSATIONS):
        turns = [
            {"role": "user", "content": f"I love dish {conversation} of menu {number}."}
            for number in range(TURNS)
        ]
        await memory.retain(turns, conversation=str(conversation))
    rows = Rows(admin)
    parameters: dict[str, object] = {"tenant": tenant.id}
    ends = await asyncio.to_thread(let_die, access, "killed", KILLS)
    assert ends == [signal.SIGKILL] * KILLS
    assert rows.named(HALF, parameters) == [(0,)]
    await memory.consolidate()
    total = CONVERSATIONS * TURNS
    assert rows.named(COUNTS, parameters) == [(total, total, total, total, CONVERSATIONS)]
