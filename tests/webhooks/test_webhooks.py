"""Webhooks: every event reaches its receiver, signed; a receiver that fails for long is disabled."""

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemic.config import Settings
from mnemic.db.database import Database, TenantDatabase
from mnemic.errors import DeliveryError, InvalidInputError, NotFoundError
from mnemic.events.log import drop_events
from mnemic.jobs.handlers import RunningJob
from mnemic.runtime.core import Core
from mnemic.runtime.workers import tenants_worker
from mnemic.sdk.job_table import JOBS
from mnemic.sdk.memory import AsyncMemory
from mnemic.webhooks import sending
from mnemic.webhooks.delivery import add_delivery, deliver, fan_out_webhooks
from mnemic.webhooks.fan_out import fan_out_tenant
from mnemic.webhooks.subscriptions import drop_deliveries
from tests.events.test_log import age
from tests.fresh_tenants import OpenMemory, Rows
from tests.opened import core_of
from tests.waiting import wait_for
from tests.webhooks.receiving import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture
async def memory(open_memory: OpenMemory) -> AsyncMemory:
    """A memory of all owners that may send to loopback addresses."""
    memory = await open_memory(owner=None)
    core_of(memory).settings = Settings(tenant=memory.tenant.name, webhook_private_addresses=True)
    return memory


async def hand_over(memory: AsyncMemory) -> int:
    return await fan_out_tenant(core_of(memory).storage.tenant_database, add_delivery)


def jobs_of(rows: Rows, memory: AsyncMemory) -> list[RunningJob]:
    found = rows.select(
        "SELECT job_id, payload, owner FROM queue.jobs"
        " WHERE tenant_id = %s AND type = 'webhook.deliver' ORDER BY job_id",
        memory.tenant.id,
    )
    return [
        RunningJob(UUID(str(job_id)), "webhook.deliver", payload, owner, 1, memory.tenant)  # type: ignore[arg-type]
        for job_id, payload, owner in found
    ]


async def make(memory: AsyncMemory, receiver: Receiver, **options: Any) -> tuple[UUID, str]:
    made = await memory.webhooks.create(receiver.url, **options)
    return made.webhook.webhook_id, made.secret


async def one_job(memory: AsyncMemory, rows: Rows) -> RunningJob:
    await memory.state.set("key", 1, owner="alice")
    assert await hand_over(memory) == 1
    (job,) = jobs_of(rows, memory)
    return job


async def test_an_event_arrives_signed(memory: AsyncMemory, receiver: Receiver, rows: Rows) -> None:
    webhook_id, secret = await make(memory, receiver)
    (memory_id,) = (await memory.retain("Alice likes tea.", owner="alice")).memory_ids
    assert await hand_over(memory) == 1
    (job,) = jobs_of(rows, memory)
    assert job.owner == "alice"
    assert await deliver(core_of(memory), job) == {"status_code": 204}
    (request,) = receiver.received
    assert request.is_signed_with(secret)
    assert not request.is_signed_with("whsec_" + "A" * 44)
    assert abs(int(request.headers["webhook-timestamp"]) - time.time()) < 60
    assert request.headers["content-type"] == "application/json"
    (event,) = await memory.events.list()
    assert request.message == {
        "type": "memory.created",
        "timestamp": event.at.astimezone(UTC).isoformat(),
        "data": {
            "position": event.position,
            "owner": "alice",
            "subject": str(memory_id),
            **event.data,
        },
    }
    (delivery,) = await memory.webhooks.deliveries(webhook_id)
    assert (delivery.event_position, delivery.event_type, delivery.attempt) == (1, "memory.created", 1)
    assert (delivery.status_code, delivery.error, delivery.owner) == (204, None, "alice")


async def test_a_message_keeps_its_id_when_it_is_sent_again(
    memory: AsyncMemory, receiver: Receiver, rows: Rows
) -> None:
    await make(memory, receiver)
    job = await one_job(memory, rows)
    for _ in range(2):
        await deliver(core_of(memory), job)
    first, second = (request.headers["webhook-id"] for request in receiver.received)
    assert first == second


async def test_the_secret_is_shown_once(memory: AsyncMemory, receiver: Receiver) -> None:
    made = await memory.webhooks.create(receiver.url)
    assert made.secret.startswith("whsec_")
    shown = (made, await memory.webhooks.list(), await memory.webhooks.get(made.webhook.webhook_id))
    assert made.secret not in repr(shown)


async def test_a_webhook_gets_the_types_and_the_owner_that_it_is_for(
    memory: AsyncMemory, receiver: Receiver, rows: Rows
) -> None:
    await make(memory, receiver, types=["state.deleted"])
    await make(memory, receiver, owner="bob")
    await memory.state.set("a", 1, owner="alice")
    await memory.state.set("b", 1, owner="bob")
    await memory.state.delete("a", owner="alice")
    assert await hand_over(memory) == 2
    for job in jobs_of(rows, memory):
        await deliver(core_of(memory), job)
    received = {(request.message["type"], request.message["data"]["owner"]) for request in receiver.received}
    assert received == {("state.deleted", "alice"), ("state.created", "bob")}


async def test_a_new_webhook_gets_later_events_by_default(memory: AsyncMemory, receiver: Receiver) -> None:
    await memory.state.set("before", 1, owner="alice")
    await make(memory, receiver)
    await make(memory, receiver, start="beginning")
    assert await hand_over(memory) == 1
    await memory.state.set("after", 1, owner="alice")
    assert await hand_over(memory) == 2


async def test_concurrent_fan_outs_enqueue_each_event_once(
    memory: AsyncMemory, receiver: Receiver, rows: Rows
) -> None:
    await make(memory, receiver)
    for number in range(30):
        await memory.state.set(f"key {number}", 1, owner="alice")
    await asyncio.gather(*(hand_over(memory) for _ in range(4)))
    await hand_over(memory)
    positions = sorted(job.payload["position"] for job in jobs_of(rows, memory))
    assert positions == list(range(1, 31))


async def test_a_rolled_back_fan_out_is_repeated(
    memory: AsyncMemory, receiver: Receiver, rows: Rows, tenant_database: TenantDatabase
) -> None:
    await make(memory, receiver)
    await memory.state.set("key", 1, owner="alice")

    async def fail(*_: object) -> None:
        raise RuntimeError("the queue is full")

    with pytest.raises(RuntimeError):
        await fan_out_tenant(tenant_database, fail)
    assert await hand_over(memory) == 1


@pytest.mark.parametrize("status", [302, 400, 404, 500, 503])
async def test_a_failed_delivery_is_retried(
    status: int, memory: AsyncMemory, receiver: Receiver, rows: Rows
) -> None:
    webhook_id, _ = await make(memory, receiver)
    receiver.statuses = [status]
    receiver.location = receiver.url.replace("/hook", "/elsewhere")
    job = await one_job(memory, rows)
    with pytest.raises(DeliveryError, match=f"status {status}"):
        await deliver(core_of(memory), job)
    assert (await memory.webhooks.get(webhook_id)).failing_since is not None
    await deliver(core_of(memory), job)
    assert (await memory.webhooks.get(webhook_id)).failing_since is None
    assert [request.path for request in receiver.received] == ["/hook", "/hook"], "no redirect is followed"
    newest, oldest = await memory.webhooks.deliveries(webhook_id)
    assert (oldest.status_code, newest.status_code) == (status, 204)
    assert [newest] == await memory.webhooks.deliveries(webhook_id, limit=1)
    assert [oldest] == await memory.webhooks.deliveries(webhook_id, before=newest.delivery_id)


async def test_a_receiver_that_responds_with_gone_is_disabled(
    memory: AsyncMemory, receiver: Receiver, rows: Rows
) -> None:
    webhook_id, _ = await make(memory, receiver)
    receiver.statuses = [410]
    job = await one_job(memory, rows)
    assert await deliver(core_of(memory), job) == {"status_code": 410}
    webhook = await memory.webhooks.get(webhook_id)
    assert (webhook.state, webhook.disabled_reason) == (
        "disabled",
        "the receiver answered with status 410 (gone)",
    )
    outcome, intent = await memory.audit.list()
    assert (intent.action, intent.target, outcome.phase) == ("disable_webhook", str(webhook_id), "succeeded")
    with pytest.raises(DeliveryError, match="disabled"):
        await deliver(core_of(memory), job)
    assert len(receiver.received) == 1


async def test_nothing_but_failures_for_days_disables(
    memory: AsyncMemory, receiver: Receiver, rows: Rows
) -> None:
    webhook_id, _ = await make(memory, receiver)
    receiver.statuses = [500, 500, 500]
    job = await one_job(memory, rows)
    for days, state in ((2, "enabled"), (4, "disabled")):
        with pytest.raises(DeliveryError):
            await deliver(core_of(memory), job)
        rows.select(
            "UPDATE queue.webhooks SET failing_since = now() - make_interval(days => %s)"
            " WHERE webhook_id = %s RETURNING 1",
            days,
            webhook_id,
        )
        with pytest.raises(DeliveryError):
            await deliver(core_of(memory), job)
        (webhook,) = await memory.webhooks.list()
        assert webhook.state == state
        receiver.statuses = [500, 500, 500]
    assert "nothing but failures for 4.0 days" in str(webhook.disabled_reason)
    assert [record.action for record in await memory.audit.list()] == ["disable_webhook"] * 2


async def test_a_slow_receiver_times_out(
    memory: AsyncMemory, receiver: Receiver, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "SEND_TIMEOUT_S", 0.2)
    receiver.holding = threading.Event()
    await make(memory, receiver)
    job = await one_job(memory, rows)
    with pytest.raises(DeliveryError, match=r"took longer|could not be reached"):
        await deliver(core_of(memory), job)


async def test_an_unreachable_receiver_counts_as_an_attempt(memory: AsyncMemory, rows: Rows) -> None:
    with receiving() as receiver:
        webhook_id, _ = await make(memory, receiver)
    job = await one_job(memory, rows)
    with pytest.raises(DeliveryError, match="could not be reached"):
        await deliver(core_of(memory), job)
    (delivery,) = await memory.webhooks.deliveries(webhook_id)
    assert delivery.status_code is None


async def test_a_disabled_webhook_continues_where_it_stopped(
    memory: AsyncMemory, receiver: Receiver, rows: Rows
) -> None:
    webhook_id, _ = await make(memory, receiver)
    disabled = await memory.webhooks.disable(webhook_id, reason="holidays")
    assert (disabled.state, disabled.disabled_reason) == ("disabled", "holidays")
    await memory.state.set("key", 1, owner="alice")
    assert await hand_over(memory) == 0
    enabled = await memory.webhooks.enable(webhook_id)
    assert (enabled.state, enabled.disabled_reason) == ("enabled", None)
    assert await hand_over(memory) == 1
    await memory.webhooks.disable(webhook_id)
    await memory.state.set("key", 2, owner="alice")
    await memory.webhooks.enable(webhook_id, start="now")
    assert await hand_over(memory) == 0


async def test_changing_and_deleting(memory: AsyncMemory, receiver: Receiver, rows: Rows) -> None:
    webhook_id, _ = await make(memory, receiver)
    changed = await memory.webhooks.update(webhook_id, types=["memory.created"])
    assert (changed.types, changed.url) == (("memory.created",), receiver.url)
    changed = await memory.webhooks.update(webhook_id, url=receiver.url + "/new")
    assert (changed.types, changed.url) == (("memory.created",), receiver.url + "/new")
    assert (await memory.webhooks.update(webhook_id, types="all")).types is None
    job = await one_job(memory, rows)
    assert await memory.webhooks.delete(webhook_id) is True
    assert await memory.webhooks.delete(webhook_id) is False
    assert await deliver(core_of(memory), job) == {"skipped": "the webhook was deleted"}
    with pytest.raises(NotFoundError, match="no webhook"):
        await memory.webhooks.get(webhook_id)


async def test_testing_sends_a_message_at_once(memory: AsyncMemory, receiver: Receiver) -> None:
    webhook_id, secret = await make(memory, receiver)
    delivery = await memory.webhooks.test(webhook_id)
    (request,) = receiver.received
    assert request.is_signed_with(secret)
    assert (request.message["type"], request.message["data"]) == ("webhook.test", {})
    assert datetime.fromisoformat(request.message["timestamp"]).tzinfo is not None
    assert (delivery.status_code, delivery.event_position) == (204, None)
    assert [delivery] == await memory.webhooks.deliveries(webhook_id)


async def test_erasing_an_owner_takes_its_webhooks_jobs_and_log(
    memory: AsyncMemory, receiver: Receiver, rows: Rows
) -> None:
    await make(memory, receiver, owner="alice")
    kept_id, _ = await make(memory, receiver)
    await memory.state.set("key", 1, owner="alice")
    await hand_over(memory)
    jobs = jobs_of(rows, memory)
    for job in jobs:
        await deliver(core_of(memory), job)
    receipt = await memory.admin.erase("alice")
    assert (receipt.rows["queue.webhooks"], receipt.rows["queue.webhook_deliveries"]) == (1, 2)
    assert [webhook.webhook_id for webhook in await memory.webhooks.list()] == [kept_id]
    assert await memory.webhooks.deliveries(kept_id) == []
    kept = next(job for job in jobs if job.payload["webhook_id"] == str(kept_id))
    assert await deliver(core_of(memory), kept) == {"skipped": "the event is no longer kept"}


async def test_dropped_events_are_logged_as_missed(
    memory: AsyncMemory, receiver: Receiver, rows: Rows, tenant_database: TenantDatabase
) -> None:
    webhook_id, _ = await make(memory, receiver)
    for number in range(3):
        await memory.state.set(f"key {number}", 1, owner="alice")
    await memory.events.list()
    age(rows, memory, up_to=2, days=31)
    await drop_events(tenant_database, keep_days=30)
    assert await hand_over(memory) == 0
    (missed,) = await memory.webhooks.deliveries(webhook_id)
    assert (missed.event_type, missed.event_position) == ("webhook.missed", 2)
    assert "no longer kept" in str(missed.error)
    assert await hand_over(memory) == 1


async def test_old_attempts_are_deleted(
    memory: AsyncMemory, receiver: Receiver, rows: Rows, tenant_database: TenantDatabase
) -> None:
    webhook_id, _ = await make(memory, receiver)
    for _ in range(2):
        await memory.webhooks.test(webhook_id)
    rows.select(
        "UPDATE queue.webhook_deliveries SET at = at - interval '31 days' WHERE delivery_id = %s RETURNING 1",
        (await memory.webhooks.deliveries(webhook_id))[-1].delivery_id,
    )
    assert await drop_deliveries(tenant_database, keep_days=30) == 1
    assert len(await memory.webhooks.deliveries(webhook_id)) == 1


async def test_webhooks_of_owners_are_separate(memory: AsyncMemory, receiver: Receiver) -> None:
    alice, bob = memory.scope(owner="alice"), memory.scope(owner="bob")
    webhook_id, _ = await make(alice, receiver)
    assert (await alice.webhooks.get(webhook_id)).owner == "alice"
    assert await bob.webhooks.list() == []
    assert await bob.webhooks.delete(webhook_id) is False
    for call in (
        bob.webhooks.get(webhook_id),
        bob.webhooks.update(webhook_id, url=receiver.url),
        bob.webhooks.enable(webhook_id),
        bob.webhooks.disable(webhook_id),
        bob.webhooks.deliveries(webhook_id),
        bob.webhooks.test(webhook_id),
    ):
        with pytest.raises(NotFoundError):
            await call
    assert receiver.received == []
    assert len(await memory.webhooks.list()) == 1


async def test_pages_of_webhooks(memory: AsyncMemory, receiver: Receiver) -> None:
    ids = [(await make(memory, receiver))[0] for _ in range(3)]
    first = await memory.webhooks.list(limit=2)
    rest = await memory.webhooks.list(after=first[-1].webhook_id)
    assert [webhook.webhook_id for webhook in (*first, *rest)] == ids


@pytest.mark.parametrize(
    ("arguments", "field"),
    [({"types": ["no.type"]}, "types"), ({"owner": ""}, "owner"), ({"start": "then"}, "start")],
)
async def test_bad_input_is_named(
    arguments: dict[str, Any], field: str, memory: AsyncMemory, receiver: Receiver
) -> None:
    with pytest.raises(InvalidInputError, match=field):
        await memory.webhooks.create(receiver.url, **arguments)
    assert await memory.webhooks.list() == []


async def test_bad_ids_and_reasons_are_named(memory: AsyncMemory, receiver: Receiver) -> None:
    webhook_id, _ = await make(memory, receiver)
    with pytest.raises(InvalidInputError, match="webhook_id"):
        await memory.webhooks.get("no id")
    with pytest.raises(InvalidInputError, match="reason"):
        await memory.webhooks.disable(webhook_id, reason="")
    with pytest.raises(NotFoundError):
        await memory.webhooks.disable(uuid4())


async def test_a_worker_delivers(memory: AsyncMemory, receiver: Receiver, shared_database: Database) -> None:
    """The whole way: a commit, the fan-out, the queue, the receiver."""
    webhook_id, secret = await make(memory, receiver)

    async def open_core(_: object) -> Core:
        return core_of(memory)

    worker = tenants_worker(shared_database, open_core, JOBS, only_tenant=memory.tenant)
    working = asyncio.create_task(worker.run())
    await worker.ready()
    try:
        for number in range(5):
            await memory.state.set(f"key {number}", 1, owner="alice")
        await wait_for(lambda: len(receiver.received) >= 5)
    finally:
        worker.stop()
        await working
        attempts = await memory.webhooks.deliveries(webhook_id)
        assert [attempt.error for attempt in attempts] == [None] * 5
    assert all(request.is_signed_with(secret) for request in receiver.received)
    assert {request.message["data"]["position"] for request in receiver.received} == {1, 2, 3, 4, 5}


async def test_the_fan_out_finds_tenants_with_new_events(
    memory: AsyncMemory, receiver: Receiver, shared_database: Database, rows: Rows
) -> None:
    await make(memory, receiver)
    await memory.state.set("key", 1, owner="alice")
    assert await fan_out_webhooks(shared_database) >= 1
    assert len(jobs_of(rows, memory)) == 1
    await fan_out_webhooks(shared_database)
    assert len(jobs_of(rows, memory)) == 1
