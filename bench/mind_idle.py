"""400 days in which nobody writes or asks, with all scheduled jobs: recall must be what it was.

The clock of PostgreSQL cannot be set. Moving all stored times into the past has the same effect as moving the
clock ahead, so that an administrator's connection does this between the runs of the jobs, in steps that are
short enough for the retention clock to trust. What people said about time (`at`, `valid_from`, `valid_to`,
deadlines) stays: those are dates, not ages.

All questions are asked before, after, and after as of the later day. Nothing may be archived, deleted or
changed: every memory that was active before must be listed as active with the same text, and every turn must
stand in its conversation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg import sql

from bench.datasets import Dataset, Question
from bench.quality import Bench, owner_name
from bench.quality_metrics import averages
from mnemic import AsyncMemory
from mnemic.db.access import DATABASE_NAME
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer

DAYS = 400
STEP = timedelta(days=2)
"""The retention clock doubts jumps of more than three days."""
PAGE = 1_000
JOB_TIMEOUT_S = 600.0
METRIC = "R@10"

_COLUMNS = """
    SELECT namespace.nspname, relation.relname, array_agg(attribute.attname)
    FROM pg_attribute AS attribute
    JOIN pg_class AS relation ON relation.oid = attribute.attrelid
    JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
    WHERE relation.relkind = 'r' AND NOT relation.relispartition AND NOT attribute.attisdropped
      AND attribute.atttypid = 'timestamptz'::regtype AND attribute.attgenerated = ''
      AND attribute.attname <> ALL (%(dates)s)
      AND (namespace.nspname IN ('state', 'vectors', 'traces') OR relation.relname = ANY (%(others)s))
    GROUP BY 1, 2 ORDER BY 1, 2
"""
DATES = ("at", "valid_from", "valid_to", "deadline", "happened_at")
"""Times of what memories tell, and of logs in partitions."""
OTHER_TABLES = ("retention_clock", "finished_jobs", "idempotent_requests", "embedding_backlog")


@dataclass(frozen=True)
class IdleRecall:
    """R@10 of one dataset: before, after, and after as of the later day."""

    dataset: str
    before: float
    after: float
    asked_later: float


@dataclass(frozen=True)
class IdleResult:
    """Recall of all datasets, and what was lost.

    `active_count` memories were active before; `lost_count` of them are not any more, or have another text.
    Conversations had `turn_count` turns, of which `lost_turn_count` cannot be read there any more.
    """

    days: int
    recalls: list[IdleRecall]
    active_count: int
    lost_count: int
    turn_count: int
    lost_turn_count: int
    job_run_count: int


async def measure_idle(bench: Bench, datasets: Sequence[Dataset], days: int = DAYS) -> IdleResult:
    """Retain the datasets, ask, let time pass, ask again."""
    for dataset in datasets:
        for owner in dataset.owners:
            await bench.retain(dataset, owner)
    before = [await _recall(bench, dataset) for dataset in datasets]
    owners = [owner_name(dataset, owner) for dataset in datasets for owner in dataset.owners]
    active = await _active(bench.memory, owners)
    turns = await _turns(bench.memory, owners)
    job_run_count = await _pass_time(bench.memory, bench.data_dir, days)
    recalls = [
        IdleRecall(
            dataset.name,
            first,
            await _recall(bench, dataset),
            await _recall(bench, _asked_later(dataset, days)),
        )
        for dataset, first in zip(datasets, before, strict=True)
    ]
    return IdleResult(
        days,
        recalls,
        active_count=len(active),
        lost_count=len(active - await _active(bench.memory, owners)),
        turn_count=len(turns),
        lost_turn_count=len(turns - await _turns(bench.memory, owners)),
        job_run_count=job_run_count,
    )


async def _recall(bench: Bench, dataset: Dataset) -> float:
    answered, _ = await bench.ask_all(dataset)
    return averages(answered, dataset.unit)[0].values[METRIC]


async def _active(memory: AsyncMemory, owners: Sequence[str]) -> set[tuple[UUID, str]]:
    """All active memories of these owners, with their texts."""
    found: set[tuple[UUID, str]] = set()
    for owner in owners:
        before = None
        while page := await memory.memories.list(owner=owner, limit=PAGE, before=before):
            found.update((each.memory_id, each.content) for each in page)
            before = page[-1].memory_id
    return found


async def _turns(memory: AsyncMemory, owners: Sequence[str]) -> set[tuple[UUID, str]]:
    """All turns of all conversations of these owners, with their texts."""
    found: set[tuple[UUID, str]] = set()
    for owner in owners:
        before = None
        while page := await memory.conversations.list(owner=owner, limit=PAGE, before=before):
            for each in page:
                found |= await _turns_of(memory, owner, each.conversation)
            before = page[-1].last_turn_at
    return found


async def _turns_of(memory: AsyncMemory, owner: str, conversation: str) -> set[tuple[UUID, str]]:
    found: set[tuple[UUID, str]] = set()
    position = 0
    while page := await memory.conversations.turns(
        conversation, from_position=position, limit=PAGE, owner=owner
    ):
        found.update((each.memory_id, each.content) for each in page)
        assert page[-1].position is not None, "a turn has a position"
        position = page[-1].position + 1
    return found


def _asked_later(dataset: Dataset, days: int) -> Dataset:
    def later(question: Question) -> Question:
        return replace(question, at=question.at + timedelta(days=days)) if question.at else question

    owners = (replace(owner, questions=tuple(map(later, owner.questions))) for owner in dataset.owners)
    return replace(dataset, owners=tuple(owners))


async def _pass_time(memory: AsyncMemory, data_dir: Path, days: int) -> int:
    """Move the clock step by step, and run the jobs of all schedules after each; returns how many ran."""
    types = [schedule.job_type for schedule in await memory.schedules.list()]
    runs = 0
    with EmbeddedServer.start(data_dir) as server:
        conninfo = server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as admin:
            await admin.execute("SET session_replication_role = replica")
            for _ in range(days // STEP.days):
                await _move_clock(admin)
                runs += await _run_jobs(memory, types)
    return runs


async def _move_clock(admin: psycopg.AsyncConnection) -> None:
    parameters = {"dates": list(DATES), "others": list(OTHER_TABLES)}
    for schema, table, columns in await (await admin.execute(_COLUMNS, parameters)).fetchall():
        moved = (sql.SQL("{0} = {0} - {1}").format(sql.Identifier(name), STEP) for name in columns)
        update = sql.SQL("UPDATE {} SET {}").format(sql.Identifier(schema, table), sql.SQL(", ").join(moved))
        await admin.execute(update)


async def _run_jobs(memory: AsyncMemory, types: Sequence[str]) -> int:
    """One job of each type, all at once: a worker looks for jobs only now and then."""
    jobs = [await memory.jobs.enqueue(job_type) for job_type in types]
    for job in jobs:
        ended = await memory.jobs.wait(job.job_id, timeout_s=JOB_TIMEOUT_S)
        assert ended.state == "done", f"{job.type}: {ended.error}"
    return len(jobs)
