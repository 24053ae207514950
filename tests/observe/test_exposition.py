"""The metrics of a database: their values, and that they name no tenant or owner."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from mnemic.config import Settings
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.jobs.queue import enqueue
from mnemic.maintenance.exposition import FROM_DATABASE, FROM_POOL, MetricFamily, collect, proxy_metrics
from mnemic.runtime.storage import Storage
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.tenants import Tenants
from tests.conftest import AppConnection, ConnectAs
from tests.opened import core_of


@pytest.fixture
def tenants(database: Database, tenant_a: Tenant) -> Tenants:
    """The tenants of the test's database."""
    return Tenants(Settings(), embedder="test", storage=Storage(database, tenant_a, server=None))


async def values(tenants: Tenants) -> dict[str, dict[tuple[Any, ...], float]]:
    """All samples by their full name and the values of their labels."""
    found: dict[str, dict[tuple[Any, ...], float]] = {}
    for family in await collect(tenants.database, tenants.call_metrics):
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            found.setdefault(family.name + sample.suffix, {})[labels] = sample.value
    return found


async def test_calls_of_all_tenants_share_one_histogram(tenants: Tenants) -> None:
    for name in ("acme", "globex"):
        memory = (await tenants.memory(name)).scope(owner="alice")
        await memory.retain("Alice plays the cello.")
    found = await values(tenants)
    assert found["mnemic_call_duration_seconds_count"][(("operation", "retain"),)] == 2
    buckets = found["mnemic_call_duration_seconds_bucket"]
    assert buckets[(("le", "+Inf"), ("operation", "retain"))] == 2
    rising = [value for labels, value in buckets.items() if ("operation", "retain") in labels]
    assert rising == sorted(rising)
    assert found["mnemic_call_duration_seconds_sum"][(("operation", "retain"),)] > 0


async def test_jobs_schedules_and_events_are_counted_over_all_tenants(
    tenants: Tenants, admin: AppConnection
) -> None:
    for name in ("acme", "globex"):
        memory = (await tenants.memory(name)).scope(owner="alice")
        await memory.retain("Alice plays the cello.")
        async with core_of(memory).storage.tenant_database.transaction() as transaction:
            await enqueue(transaction, "sync.run")
            await enqueue(transaction, "sync.run", run_at=datetime.now(UTC) + timedelta(hours=1))
    admin.execute("UPDATE queue.jobs SET run_at = now() - interval '1 hour' WHERE state = 'waiting'")
    admin.execute(
        "UPDATE queue.schedules SET next_run_at = now() - interval '3 minutes' WHERE name = 'cleanup'"
    )
    finish(admin, "done", seconds=2.0)
    finish(admin, "dead", seconds=4.0)
    found = await values(tenants)
    assert found["mnemic_jobs"] == {
        (("state", "scheduled"), ("type", "sync.run")): 2,
        (("state", "waiting"), ("type", "sync.run")): 2,
    }
    assert 3600 <= found["mnemic_job_oldest_ready_seconds"][()] < 3700
    assert found["mnemic_jobs_dead"] == {(): 1}
    assert found["mnemic_jobs_finished_1h"][(("state", "done"), ("type", "sync.run"))] == 1
    assert found["mnemic_job_run_seconds_1h"][(("quantile", "0.95"), ("type", "sync.run"))] == pytest.approx(
        2
    )
    assert found["mnemic_schedules_overdue"][()] == 2  # Of the tenants acme and globex.
    assert found["mnemic_events_unsequenced"][()] >= 2
    assert found["mnemic_pool_connections"][()] >= 1


def finish(admin: AppConnection, state: str, *, seconds: float) -> None:
    admin.execute(
        "INSERT INTO queue.finished_jobs (tenant_id, job_id, type, payload, priority, run_at, state,"
        " attempts, max_attempts, claims, created_at, started_at, finished_at)"
        " SELECT tenant_id, mnemic.new_id(), 'sync.run', '{}', 0, now(), %s, 1, 5, 1, now(),"
        " now() - make_interval(secs => %s), now() FROM state.tenants WHERE name = 'acme'",
        [state, seconds],
    )


async def test_every_metric_has_a_help_text_and_names_no_tenant(tenants: Tenants, tenant_a: Tenant) -> None:
    memory = (await tenants.memory("acme")).scope(owner="zenobia")
    await memory.retain("Zenobia keeps bees.")
    families = await collect(tenants.database, tenants.call_metrics)
    assert {family.name for family in families} >= {name for name, _ in FROM_DATABASE.values()}
    of_proxy = proxy_metrics(tenants.call_metrics.proxy)
    assert len(families) == 8 + len(of_proxy) + len(FROM_POOL) + len(FROM_DATABASE)
    assert all(family.help.endswith(".") and family.name.startswith("mnemic_") for family in families)
    assert names_in(families) <= {
        "operation",
        "le",
        "type",
        "state",
        "quantile",
        "outcome",
        "purpose",
        "direction",
        "api",
        "reason",
        "tool",
        "kind",
        "cached",
    }
    assert [
        word for word in ("zenobia", "acme", "bees", str(tenant_a.id)) if word in repr(families).lower()
    ] == []


def names_in(families: list[MetricFamily]) -> set[str]:
    return {name for family in families for sample in family.samples for name in sample.labels}


async def test_rare_job_types_share_a_label(tenants: Tenants, admin: AppConnection) -> None:
    memory: AsyncMemory = await tenants.memory("acme")
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        for number in range(103):
            await enqueue(transaction, f"made.up.{number:03}")
    jobs = (await values(tenants))["mnemic_jobs"]
    assert len(jobs) == 101
    assert jobs[(("state", "waiting"), ("type", "(others)"))] == 3


async def test_a_tenant_cannot_read_the_metrics(connect_as: ConnectAs, tenant_a: Tenant) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="proof of working"):
        connect_as(tenant_a).execute("SELECT * FROM mnemic.queue_metrics()")
