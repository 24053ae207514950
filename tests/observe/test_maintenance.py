"""Maintenance jobs: what they archive, forget and drop, and what they keep."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.govern import idempotent_requests
from mnemic.govern.idempotent_requests import IdempotentRequest, StartedAttempt
from mnemic.jobs.handlers import RunningJob
from mnemic.maintenance import jobs as maintenance
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.identity import new_id
from tests.conftest import AppConnection
from tests.opened import core_of, opened

PRUNED = {
    "job_count": 0,
    "event_count": 0,
    "delivery_count": 0,
    "secret_count": 0,
    "answer_count": 0,
    "hourly_metric_count": 0,
    "model_call_count": 0,
    "working_item_count": 0,
}
RECALLED = "INSERT INTO state.recall_counts SELECT tenant_id, memory_id, 1, %s FROM state.memories"
NOTHING = {"expired_count": 0, "faint_count": 0, "conversation_count": 0}


@pytest.fixture
def memory(database: Database, tenant_a: Tenant) -> AsyncMemory:
    """Tenant A's memory with the test model."""
    return opened(database, tenant_a, embedder="test")


async def statuses(memory: AsyncMemory) -> dict[str, str]:
    return {found.content: found.status for found in await memory.memories.list(statuses=None)}


async def clean_up(memory: AsyncMemory, job: RunningJob) -> Any:
    """The archived memories; comparing and counting are tested elsewhere."""
    done: Any = await maintenance.clean_up(core_of(memory), job)
    return {name: count for name, count in done.items() if name in NOTHING}


async def test_the_daily_cleanup_counts_what_each_owner_could_clean_up(
    memory: AsyncMemory, job: RunningJob, admin: AppConnection
) -> None:
    for owner in ("alice", "bob"):
        await memory.retain("Old and never recalled.", owner=owner)
    admin.execute("UPDATE state.memories SET created_at = now() - interval '1 year'")
    done: Any = await maintenance.clean_up(core_of(memory), job)
    assert done["counted_owner_count"] == 2
    for owner in ("alice", "bob"):
        counts = {each.kind: each.memory_count for each in await memory.cleanup.counts(owner=owner)}
        assert counts == {"stale": 0, "expired": 0, "never_recalled": 1, "dead_links": 0}


async def test_expired_memories_are_archived_by_the_system(memory: AsyncMemory, job: RunningJob) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    kept = await memory.retain("Bob visits tomorrow.", expires_at=soon)
    await memory.retain("Bob lives in Oslo.")
    gone = await memory.retain("Bob visits today.", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert await clean_up(memory, job) == NOTHING | {"expired_count": 1}
    assert await clean_up(memory, job) == NOTHING
    archived = await memory.memories.get(gone.memory_ids[0])
    assert (archived.status, archived.changed_by) == ("archived", "system")
    assert archived.change_reason == "It has expired."
    assert archived.version == 2
    assert (await memory.memories.get(kept.memory_ids[0])).status == "active"


async def test_unused_memories_of_low_salience_are_archived_unless_anchored(
    memory: AsyncMemory, job: RunningJob, admin: AppConnection
) -> None:
    for content in ("faint", "faint but used", "faint but young", "strong"):
        await memory.retain(content)
    await memory.retain("faint but anchored", anchored=True)
    long_ago, lately = datetime.now(UTC) - timedelta(days=31), datetime.now(UTC) - timedelta(days=29)
    admin.execute("UPDATE state.memories SET salience = 0.09, created_at = %s", [long_ago])
    admin.execute("UPDATE state.memories SET salience = 0.1 WHERE content = 'strong'")
    admin.execute("UPDATE state.memories SET created_at = %s WHERE content LIKE '%%young'", [lately])
    admin.execute(f"{RECALLED} WHERE content LIKE '%%used'".encode(), [lately])
    assert await clean_up(memory, job) == NOTHING | {"faint_count": 1}
    archived = [content for content, status in (await statuses(memory)).items() if status == "archived"]
    assert archived == ["faint"]


async def test_turns_and_documents_are_never_archived_for_low_salience(
    memory: AsyncMemory, job: RunningJob, admin: AppConnection
) -> None:
    """400 idle days: nothing that was said is hidden, and nothing is deleted."""
    await memory.retain([{"role": "user", "content": "I keep bees."}], conversation="c")
    await memory.retain("An event.", category="episodic")
    await memory.documents.put("manual", "A page of a manual.")
    admin.execute("UPDATE state.memories SET salience = 0, created_at = now() - interval '400 days'")
    assert await clean_up(memory, job) == NOTHING
    assert set((await statuses(memory)).values()) == {"active"}


async def test_what_was_archived_is_listed_and_undone_and_not_archived_again(
    memory: AsyncMemory, job: RunningJob
) -> None:
    over = datetime.now(UTC) - timedelta(seconds=1)
    (memory_id,) = (await memory.retain("Bob visits today.", expires_at=over)).memory_ids
    assert await clean_up(memory, job) == NOTHING | {"expired_count": 1}
    (changeset,) = await memory.curation.list(purpose="cleanup")
    assert (changeset.state, changeset.reason, changeset.process) == (
        "applied",
        "It has expired.",
        "maintenance",
    )
    await memory.curation.undo(changeset.changeset_id)
    assert (await memory.memories.get(memory_id)).status == "active"
    assert await clean_up(memory, job) == NOTHING


async def test_all_chunks_of_a_text_are_archived_together(
    memory: AsyncMemory, job: RunningJob, admin: AppConnection
) -> None:
    retained = await memory.retain("A long story. " * 1500)
    chunk_count = len(retained.stored[0].chunk_ids)
    assert chunk_count > 1
    long_ago = datetime.now(UTC) - timedelta(days=31)
    admin.execute("UPDATE state.memories SET salience = 0.01, created_at = %s", [long_ago])
    admin.execute(f"{RECALLED} WHERE chunk_index = 1".encode(), [datetime.now(UTC)])
    assert await clean_up(memory, job) == NOTHING
    admin.execute("DELETE FROM state.recall_counts")
    assert await clean_up(memory, job) == NOTHING | {"faint_count": chunk_count}


async def test_an_inactive_conversation_is_archived_and_its_turns_are_still_recalled(
    memory: AsyncMemory, job: RunningJob, admin: AppConnection
) -> None:
    await memory.retain({"role": "user", "content": "I keep bees in Bergen."}, conversation="old")
    await memory.retain({"role": "user", "content": "I keep goats in Turku."}, conversation="new")
    admin.execute(
        "UPDATE state.conversations SET last_turn_at = now() - interval '91 days' WHERE conversation = 'old'"
    )
    assert await clean_up(memory, job) == NOTHING | {"conversation_count": 1}
    assert (await memory.conversations.get("old")).archived_at is not None
    assert (await memory.conversations.get("new")).archived_at is None
    found = await memory.recall("bees in Bergen", refuse_below=0)
    assert "I keep bees in Bergen." in [hit.memory.content for hit in found]


async def test_clean_up_continues_after_a_full_batch(
    memory: AsyncMemory, job: RunningJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "BATCH_ROWS", 3)
    over = datetime.now(UTC) - timedelta(seconds=1)
    await memory.retain([{"content": f"note {number}", "expires_at": over} for number in range(9)])
    assert await clean_up(memory, job) == NOTHING | {"expired_count": 9}


async def test_another_tenant_is_not_affected(
    memory: AsyncMemory, foreign_memory: AsyncMemory, job: RunningJob, admin: AppConnection
) -> None:
    theirs = opened(core_of(foreign_memory).storage.database, foreign_memory.tenant, embedder="test")
    await theirs.retain("theirs", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert await clean_up(memory, job) == NOTHING
    assert await statuses(theirs) == {"theirs": "active"}


async def test_old_jobs_and_events_are_pruned(
    memory: AsyncMemory, job: RunningJob, admin: AppConnection
) -> None:
    await memory.retain("something happened")
    admin.execute("UPDATE queue.event_inbox SET at = now() - interval '31 days'")
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        await transaction.execute("events.sequence", {"most": 100})
    for days in (29, 31):
        admin.execute(
            "INSERT INTO queue.finished_jobs (tenant_id, job_id, type, payload, priority, run_at, state,"
            " attempts, max_attempts, claims, created_at, finished_at)"
            " VALUES (%s, mnemic.new_id(), 'sync.run', '{}', 0, now(), 'done', 1, 5, 1, now(),"
            " now() - make_interval(days => %s))",
            [memory.tenant.id, days],
        )
    assert await maintenance.prune(core_of(memory), job) == PRUNED | {"job_count": 1, "event_count": 1}
    assert await maintenance.prune(core_of(memory), job) == PRUNED


async def test_responses_to_old_requests_are_pruned(
    memory: AsyncMemory, job: RunningJob, admin: AppConnection
) -> None:
    database = core_of(memory).storage.tenant_database
    for hours in (23, 25):
        request = IdempotentRequest(new_id(), bytes(32), "alice")
        assert isinstance(await idempotent_requests.begin(database, request), StartedAttempt)
        admin.execute(
            "UPDATE queue.idempotent_requests SET started_at = now() - make_interval(hours => %s)"
            " WHERE key_id = %s",
            [hours, request.key_id],
        )
    assert await maintenance.prune(core_of(memory), job) == PRUNED | {"answer_count": 1}
    (left,) = admin.execute("SELECT count(*) FROM queue.idempotent_requests").fetchone() or ()
    assert left == 1


async def test_log_partitions_are_created_ahead_and_dropped_after_the_retention(
    memory: AsyncMemory, job: RunningJob, admin: AppConnection
) -> None:
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        made = await transaction.connection.execute(
            b"SELECT mnemic.make_log_partitions(current_date - 92, 3) AS made"
        )
        assert await made.fetchone() == {"made": 3}
    # Days 92 and 91 are too old; day 90 is the oldest that is kept.
    assert await maintenance.rotate_log_partitions(core_of(memory), job) == {
        "made_count": 8,
        "dropped_count": 2,
    }
    assert await maintenance.rotate_log_partitions(core_of(memory), job) == {
        "made_count": 0,
        "dropped_count": 0,
    }
