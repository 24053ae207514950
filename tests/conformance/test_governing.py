"""Shares, logs, keys, events, jobs and administration are the same on every transport."""

import json
from contextlib import aclosing
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from mnemic.types.attention import Concern
from mnemic.types.event import Event
from mnemic.types.job import Job, JobCount
from mnemic.types.key import ApiKey, NewApiKey
from mnemic.types.owner_counts import OwnerCounts
from mnemic.types.receipt import ErasureReceipt
from mnemic.types.schedule import Schedule
from mnemic.types.series import GrowthDay, Series
from mnemic.types.share import Grant, Group
from mnemic.types.spend import ModelPrice, SpendCaps
from mnemic.types.stats import TenantStats
from mnemic.types.traces import AuditedOperation, AuditRecord, LoggedCall


async def test_a_grant_lets_another_recall_until_it_is_revoked(memory: Any, owner: str) -> None:
    await memory.retain("Alice moved to Berlin.", tags=["home"])
    other = memory.scope(owner=f"friend of {owner}")
    assert (await other.recall("Berlin")).refused
    grant = await memory.shares.grant(other.owner, tags=["home"], reason="we moved in together")
    assert isinstance(grant, Grant)
    assert (grant.owner, grant.tags, grant.state) == (owner, ("home",), "offered")
    assert (await other.recall("Berlin")).refused
    assert await other.shares.list(given=False, received=True, state="offered") == [grant]
    with pytest.raises(NotFoundError):
        await memory.shares.accept(grant.grant_id)
    accepted = await other.shares.accept(grant.grant_id)
    assert (accepted.state, accepted.accepted_at is not None) == ("active", True)
    found = await other.recall("Berlin", explain=True)
    assert [(hit.memory.owner, hit.explain.grant_id) for hit in found] == [(owner, grant.grant_id)]
    assert "shared by" in found.text
    assert await other.shares.list(given=False, received=True) == [accepted]
    with pytest.raises(NotFoundError):
        await other.shares.revoke(grant.grant_id)
    assert (await memory.shares.revoke(grant.grant_id)).revoked_at is not None
    assert (await other.recall("Berlin")).refused
    with pytest.raises(ConflictError):
        await other.shares.accept(grant.grant_id)
    again = await memory.shares.grant(other.owner)
    assert (await other.shares.drop(again.grant_id)).state == "dropped"
    assert [each.state for each in await memory.shares.list(include_ended=True)] == ["dropped", "revoked"]


async def test_an_administrator_shares_with_a_group_and_with_everyone(tenant_memory: Any, owner: str) -> None:
    group, handbook, reader = f"readers of {owner}", f"handbook of {owner}", tenant_memory.scope(owner=owner)
    await tenant_memory.retain("The office closes at noon.", owner=handbook)
    created = await tenant_memory.groups.create(group)
    assert isinstance(created, Group)
    assert (created.name, created.member_count) == (group, 0)
    granted = await tenant_memory.groups.grant(group, owner=handbook, reason="for all readers")
    assert (granted.owner, granted.granted_to, granted.granted_to_group) == (handbook, None, group)
    assert (await reader.recall("office")).refused
    assert await tenant_memory.groups.add(group, owner) is True
    assert await tenant_memory.groups.add(group, owner) is False
    assert await tenant_memory.groups.members(group) == [owner]
    assert (await tenant_memory.groups.list(after=group[:-1], limit=1))[0].member_count == 1
    assert [hit.memory.owner for hit in await reader.recall("office")] == [handbook]
    assert await reader.shares.list(given=False, received=True, state="active") == [granted]
    assert await tenant_memory.groups.remove(group, owner) is True
    assert (await reader.recall("office")).refused
    await tenant_memory.groups.delete(group)
    with pytest.raises(NotFoundError):
        await tenant_memory.groups.members(group)
    everyone = await tenant_memory.groups.grant("everyone", owner=handbook)
    assert [hit.memory.owner for hit in await reader.recall("office")] == [handbook]
    assert (await reader.shares.drop(everyone.grant_id)).state == "dropped"
    assert (await reader.recall("office")).refused
    await tenant_memory.shares.revoke(everyone.grant_id, owner=handbook)
    with pytest.raises(ForbiddenError):
        await reader.groups.create(group)


async def test_a_policy_accepts_for_all_readers(tenant_memory: Any, owner: str) -> None:
    assert await tenant_memory.shares.policy() == "ask"
    assert await tenant_memory.shares.set_policy("accept_all") == "accept_all"
    assert (await tenant_memory.shares.grant(f"friend of {owner}", owner=owner)).state == "active"
    assert await tenant_memory.shares.set_policy("ask") == "ask"


async def test_calls_are_logged_and_operations_are_audited(memory: Any, owner: str) -> None:
    await memory.retain("Tea")
    await memory.entities.upsert("person", "Alice")
    await memory.entities.delete("person", "Alice")
    (call,) = await memory.log.list(operation="retain")
    assert isinstance(call, LoggedCall)
    assert (call.owner, call.memory_count) == (owner, 1)
    outcome, intent = await memory.audit.list(action="delete_entity")
    assert isinstance(outcome, AuditRecord)
    assert (outcome.phase, outcome.intent_id) == ("succeeded", intent.audit_id)
    assert await memory.audit.unfinished() == []
    (operation,) = await memory.audit.operations(action="delete_entity", outcome="succeeded")
    assert isinstance(operation, AuditedOperation)
    assert (operation.audit_id, operation.owner, operation.at) == (intent.audit_id, owner, intent.at)
    assert (operation.outcome, operation.ended_at) == ("succeeded", outcome.at)
    assert await memory.audit.operations(action="delete_entity") == [operation]
    for outcome_wanted in ("failed", "unfinished"):
        assert await memory.audit.operations(action="delete_entity", outcome=outcome_wanted) == []


async def test_an_owner_is_erased_with_a_receipt(memory: Any, owner: str) -> None:
    await memory.retain(["One", "Two"])
    archived = await memory.admin.erase(owner, mode="archive")
    assert (archived.mode, await memory.memories.list()) == ("archive", [])
    receipt = await memory.admin.erase(owner)
    assert isinstance(receipt, ErasureReceipt)
    assert receipt.rows["state.memories"] == 2
    assert await memory.memories.list(statuses=None) == []
    assert await memory.admin.receipt(receipt.receipt_id) == receipt
    assert await memory.admin.receipt(str(archived.receipt_id)) == archived
    assert await memory.admin.receipts(limit=2) == [receipt, archived]
    assert await memory.admin.receipts(before=receipt.receipt_id, limit=1) == [archived]
    with pytest.raises(NotFoundError, match="no receipt"):
        await memory.admin.receipt(uuid4())


async def test_an_owner_is_exported_to_a_file_of_the_caller(memory: Any, owner: str, tmp_path: Path) -> None:
    await memory.retain(["One", "Zwei – two"])
    path = tmp_path / "owner.jsonl"
    rows = await memory.admin.export(path)
    assert rows["state.memories"] == 2
    assert rows["state.goals"] == 0
    head, *lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert (head["format"], head["owner"], len(lines)) == ("mnemic-export", owner, sum(rows.values()))
    with pytest.raises(ConflictError, match="exists already"):
        await memory.admin.export(path)
    nothing = await memory.admin.export(str(path), owner=f"not {owner}", replace=True)
    assert set(nothing) == set(rows)
    assert nothing["state.memories"] == 0
    acts = await memory.audit.list(action="export_owner")
    assert [act.detail["rows"] for act in acts if act.phase == "succeeded"] == [rows]
    with pytest.raises(NotFoundError, match="cannot be written"):
        await memory.admin.export(tmp_path / "missing" / "file")


async def test_statistics_of_the_tenant(memory: Any, owner: str) -> None:
    await memory.retain("Tea")
    stats = await memory.admin.stats()
    assert isinstance(stats, TenantStats)
    assert stats.memory_count >= 1
    assert owner in await memory.admin.owners(after=owner[:-1], limit=1000)
    (counts,) = await memory.admin.owner_counts(prefix=owner)
    assert isinstance(counts, OwnerCounts)
    assert (counts.owner, counts.memory_count, counts.text_bytes) == (owner, 1, 3)
    assert await memory.admin.owner_counts(order="activity", limit=1) == [counts]
    assert isinstance(await memory.admin.count_owners(), int)
    assert isinstance(await memory.admin.stats(exact=False), TenantStats)
    assert await memory.admin.embed_backlog() == 0


async def test_keys_are_created_and_revoked(memory: Any, owner: str) -> None:
    made = await memory.keys.create(role="read", name="for tests")
    assert isinstance(made, NewApiKey)
    assert (made.owner, made.role) == (owner, "read")
    assert made.key.startswith("mn_")
    (listed,) = await memory.keys.list()
    assert type(listed) is ApiKey
    assert await memory.keys.get(made.key_id) == listed
    assert (await memory.keys.revoke(made.key_id)).revoked_at is not None
    assert await memory.keys.list() == []


async def test_events_are_listed_and_followed(memory: Any, owner: str) -> None:
    await memory.state.set("one", 1)
    (first,) = await memory.events.list(types=["state.created"])
    assert isinstance(first, Event)
    assert await memory.events.list(order="newest", types=["state.created"], limit=1) == [first]
    assert await memory.events.list(order="newest", before=first.position) == []
    assert (first.owner, first.subject) == (owner, "one")
    seen: list[str] = []
    async with aclosing(memory.events.subscribe(types=["state.created"], start=first.position)) as events:
        await memory.state.set("two", 2)
        await memory.state.set("three", 3)
        async for event in events:
            seen.append(event.subject)
            if len(seen) == 2:
                break
    assert seen == ["two", "three"]
    await memory.state.delete("one")
    both = memory.events.subscribe(types=["state.deleted", "state.created"], start=first.position)
    async with aclosing(both) as events:
        assert [(await anext(events)).type for _ in range(3)] == ["state.created"] * 2 + ["state.deleted"]


async def test_jobs_are_scheduled_and_cancelled(memory: Any, owner: str) -> None:
    job = await memory.jobs.enqueue("conformance", {"n": [1]}, key=owner, run_at="2099-01-01T00:00:00Z")
    assert isinstance(job, Job)
    assert (job.owner, job.payload, job.state) == (owner, {"n": [1]}, "scheduled")
    assert (await memory.jobs.enqueue("conformance", key=owner)).job_id == job.job_id
    assert [each.job_id for each in await memory.jobs.list(owner=owner)] == [job.job_id]
    assert (await memory.jobs.wait(job.job_id, timeout_s=0)).state == "scheduled"
    assert (await memory.jobs.cancel(job.job_id)).state == "cancelled"
    assert (await memory.jobs.wait(job.job_id)).has_ended
    assert await memory.jobs.dead(owner=owner) == []
    assert await memory.jobs.replay_dead(type="conformance", owner=owner, since="2020-01-01") == 0
    cancelled = [each for each in await memory.jobs.counts() if each.state == "cancelled"]
    assert cancelled
    assert all(isinstance(each, JobCount) and not each.has_more for each in cancelled)


async def test_schedules_are_set_paused_and_deleted(memory: Any, owner: str) -> None:
    made = await memory.schedules.set(owner, "conformance", cron="30 3 * * *", payload={"n": 1})
    assert isinstance(made, Schedule)
    assert await memory.schedules.get(owner) == made
    assert made.name in [schedule.name for schedule in await memory.schedules.list(limit=1000)]
    assert not (await memory.schedules.pause(owner)).enabled
    assert (await memory.schedules.resume(owner)).enabled
    assert await memory.schedules.delete(owner) is True
    assert await memory.schedules.get(owner) is None


async def test_caps_and_prices_of_language_models(tenant_memory: Any, owner: str) -> None:
    model = f"provider:{owner}"
    before = await tenant_memory.spend.caps()
    assert isinstance(before, SpendCaps)
    assert before.total.cap_usd is None
    assert before.total.spent_usd == before.reserved_usd == 0
    assert await tenant_memory.spend.summary(since="2026-01-01") == []
    after = await tenant_memory.spend.set_cap("12.5", period="total")
    assert (after.total.cap_usd, after.day.cap_usd) == (Decimal("12.5"), None)
    assert await tenant_memory.spend.caps() == after
    price = await tenant_memory.spend.set_price(model, input_usd="0.25", output_usd=2)
    assert isinstance(price, ModelPrice)
    assert price in await tenant_memory.spend.prices()
    await tenant_memory.spend.remove_price(model)
    assert price not in await tenant_memory.spend.prices()
    with pytest.raises(NotFoundError):
        await tenant_memory.spend.remove_price(model)
    assert await tenant_memory.spend.set_cap(None, period="total") == before
    with pytest.raises(InvalidInputError, match="usd must be an int"):
        await tenant_memory.spend.set_cap("-1")


async def test_series_growth_and_attention_have_the_same_types_on_every_transport(
    tenant_memory: Any, owner: str
) -> None:
    await tenant_memory.retain("Alice moved to Berlin.", owner=owner)
    await tenant_memory.recall("Berlin", owner=owner)
    series = await tenant_memory.metrics.series(hours=2)
    assert isinstance(series, Series)
    assert (series.step, len(series.points), len(series.confidences)) == ("hour", 2, 20)
    assert series.totals["retain"].memory_count >= 1
    assert (series.totals["recall"].p50_ms or 0) > 0
    assert isinstance(series.points[0].usd, Decimal)
    assert series.points[-1].at + timedelta(hours=1) == series.until
    growth = await tenant_memory.metrics.growth(days=2)
    assert isinstance(growth[-1], GrowthDay)
    assert growth[-1].stored_count >= 1
    assert all(isinstance(concern, Concern) for concern in await tenant_memory.metrics.attention())
    with pytest.raises(InvalidInputError, match="not both"):
        await tenant_memory.metrics.series(hours=2, since="2026-01-01")
