"""The audit log: intent before the act, outcome after it, whatever becomes of the act."""

import asyncio
import json
import logging
import re
import signal
import subprocess
import sys
from typing import Any

import pytest
from psycopg import errors as pg

from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.govern.audit import audited, list_acts, unfinished_acts
from mnemic.sql import query
from mnemic.tiers.state_documents import get_document, set_document
from mnemic.types.scope import Scope
from mnemic.types.traces import AuditRecord
from tests.conftest import LIMITS, AppConnection, ConnectAs
from tests.govern.conftest import ALICE, BOB, NOBODY

KILL_TIMEOUT_S = 300


@pytest.fixture
def own_database() -> bool:
    """Yes: the tests look at a whole database."""
    return True


async def acts(place: TenantDatabase, scope: Scope = ALICE, **options: Any) -> list[AuditRecord]:
    wanted: dict[str, Any] = {"action": None, "since": None, "until": None, "before": None, "limit": 100}
    return await list_acts(place, scope, **(wanted | options))


async def phases(place: TenantDatabase) -> list[str]:
    """The phases of all rows, oldest first."""
    return [record.phase for record in reversed(await acts(place, NOBODY))]


async def test_the_intent_is_committed_before_the_act_begins(place_a: TenantDatabase) -> None:
    async with audited(place_a, ALICE, action="erase", target="alice", detail={"mode": "erase"}) as act:
        (intent,) = await acts(place_a)
        assert intent.audit_id == act.intent_id
    assert (intent.phase, intent.intent_id, intent.detail) == ("intent", None, {"mode": "erase"})
    assert (intent.owner, intent.process, intent.action, intent.target) == (
        "alice",
        "tests",
        "erase",
        "alice",
    )


async def test_the_outcome_refers_to_its_intent_and_carries_the_counts(place_a: TenantDatabase) -> None:
    async with audited(place_a, ALICE, action="erase", target="alice") as act:
        act.outcome(memories=3)
        act.outcome(entities=1)
    outcome, intent = await acts(place_a)
    assert (outcome.phase, outcome.intent_id) == ("succeeded", intent.audit_id)
    assert outcome.detail == {"memories": 3, "entities": 1}
    assert outcome.at >= intent.at
    assert (outcome.owner, outcome.action, outcome.target) == (intent.owner, intent.action, intent.target)


async def test_the_outcome_commits_with_the_act(place_a: TenantDatabase) -> None:
    async with audited(place_a, ALICE, action="erase", target="alice") as act:
        async with place_a.transaction() as transaction:
            await act.commit_with(transaction)
            assert await phases(place_a) == ["intent"]
        assert await phases(place_a) == ["intent", "succeeded"]
    assert await phases(place_a) == ["intent", "succeeded"]


async def test_an_act_that_is_undone_has_failed_even_if_it_was_about_to_succeed(
    place_a: TenantDatabase,
) -> None:
    async def lose_a_race() -> None:
        async with (
            audited(place_a, ALICE, action="erase", target="alice") as act,
            place_a.transaction() as transaction,
        ):
            await act.commit_with(transaction)
            raise ConflictError("somebody else was first")

    with pytest.raises(ConflictError):
        await lose_a_race()
    failed, _ = await acts(place_a)
    assert failed.phase == "failed"
    assert failed.detail == {"error": "ConflictError", "message": "somebody else was first"}


async def test_an_act_that_was_committed_has_succeeded_whatever_comes_after_it(
    place_a: TenantDatabase,
) -> None:
    async def stumble_afterwards() -> None:
        async with audited(place_a, ALICE, action="erase", target="alice") as act:
            async with place_a.transaction() as transaction:
                await act.commit_with(transaction)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await stumble_afterwards()
    assert await phases(place_a) == ["intent", "succeeded"]


async def test_a_failing_act_keeps_what_it_counted_but_no_foreign_message(place_a: TenantDatabase) -> None:
    async def fail() -> None:
        async with audited(place_a, ALICE, action="backup", target="file") as act:
            act.outcome(tables=2)
            raise ValueError("the password is hunter2")

    with pytest.raises(ValueError, match="the password is hunter2"):
        await fail()
    failed, _ = await acts(place_a)
    assert failed.detail == {"tables": 2, "error": "ValueError"}


async def test_an_error_message_that_json_cannot_hold_is_kept_as_far_as_it_can(
    place_a: TenantDatabase,
) -> None:
    with pytest.raises(NotFoundError):
        async with audited(place_a, ALICE, action="erase", target="alice"):
            raise NotFoundError("no \0 such \ud800 thing" + "!" * 5000)
    failed, _ = await acts(place_a)
    assert failed.detail["message"].startswith("no  such ? thing!")
    assert len(failed.detail["message"]) < 1100


async def test_a_cancelled_act_has_failed(place_a: TenantDatabase) -> None:
    begun = asyncio.Event()

    async def act_for_ever() -> None:
        async with audited(place_a, ALICE, action="erase", target="alice"):
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(act_for_ever())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    failed, _ = await acts(place_a)
    assert (failed.phase, failed.detail) == ("failed", {"error": "CancelledError"})


async def test_a_killed_act_leaves_its_intent_and_nothing_else(
    access: Access, place_a: TenantDatabase, tenant_a: Tenant
) -> None:
    await set_document(place_a, ALICE, "plan", {"step": 1}, expected_version=None)
    orders = {
        "conninfo": access.conninfo(),
        "key": access.key.secret.hex(),
        "tenant_id": str(tenant_a.id),
    }
    died = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "tests.govern.killed_act"],
        input=json.dumps(orders).encode(),
        timeout=KILL_TIMEOUT_S,
        check=False,
    )
    assert died.returncode == -signal.SIGKILL
    (unfinished,) = await unfinished_acts(place_a, ALICE, limit=10)
    assert (unfinished.action, unfinished.target, unfinished.process) == ("delete_document", "plan", "doomed")
    assert await phases(place_a) == ["intent"]
    assert await get_document(place_a, ALICE, "plan") is not None


async def test_an_act_whose_failure_cannot_be_written_stays_unfinished_and_raises_its_own_error(
    access: Access, tenant_a: Tenant, place_a: TenantDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    lost = Database(access, LIMITS)
    await lost.open()

    async def lose_the_database() -> None:
        async with audited(TenantDatabase(lost, tenant_a), ALICE, action="erase", target="alice"):
            await lost.aclose()
            raise ZeroDivisionError

    with caplog.at_level(logging.WARNING), pytest.raises(ZeroDivisionError):
        await lose_the_database()
    assert "stays unfinished" in caplog.text
    assert [record.phase for record in await unfinished_acts(place_a, ALICE, limit=10)] == ["intent"]


async def test_only_acts_without_an_outcome_are_unfinished(place_a: TenantDatabase) -> None:
    async with audited(place_a, ALICE, action="erase", target="done"):
        pass
    async with audited(place_a, ALICE, action="erase", target="running"):
        (running,) = await unfinished_acts(place_a, ALICE, limit=10)
        assert running.target == "running"
    assert await unfinished_acts(place_a, ALICE, limit=10) == []


async def test_an_intent_has_one_outcome(place_a: TenantDatabase) -> None:
    async with audited(place_a, ALICE, action="erase", target="alice") as act:
        async with place_a.transaction() as transaction:
            await act.commit_with(transaction)
        act.outcome(again=True)
        async with place_a.transaction() as transaction:
            await act.commit_with(transaction)
    outcome, _ = await acts(place_a)
    assert outcome.detail == {}
    assert await phases(place_a) == ["intent", "succeeded"]


UNDESCRIBABLE_ACTS: list[tuple[dict[str, Any], str]] = [
    ({"action": ""}, "action"),
    ({"action": 7}, "action must be text"),
    ({"action": "a\0b"}, "action"),
    ({"target": " "}, "target must not be empty"),
    ({"target": "x" * 1025}, "target has 1,025 characters"),
    ({"target": "\ud800"}, "lone surrogate"),
    ({"detail": {"when": object()}}, "detail must be JSON"),
    ({"detail": [1]}, "detail must be a mapping"),
    ({"detail": {"x": float("nan")}}, "detail must be JSON"),
]


async def test_an_act_that_cannot_be_described_does_not_begin(
    place_a: TenantDatabase, subtests: pytest.Subtests
) -> None:
    for given, said in UNDESCRIBABLE_ACTS:
        with subtests.test(said):
            begun = False
            with pytest.raises(InvalidInputError, match=said):
                async with audited(place_a, ALICE, **({"action": "erase", "target": "alice"} | given)):
                    begun = True
            assert not begun
            assert await phases(place_a) == []


async def test_an_outcome_that_is_not_json_is_refused_inside_the_act(place_a: TenantDatabase) -> None:
    with pytest.raises(InvalidInputError, match="outcome must be JSON"):
        async with audited(place_a, ALICE, action="erase", target="alice") as act:
            act.outcome(memories=object())
    assert await phases(place_a) == ["intent", "failed"]


async def test_pages_follow_each_other_without_gap_or_repetition(place_a: TenantDatabase) -> None:
    for number in range(5):
        async with audited(place_a, ALICE, action="erase", target=str(number)):
            pass
    everything = await acts(place_a)
    assert len(everything) == 10
    paged: list[AuditRecord] = []
    while page := await acts(place_a, limit=3, before=paged[-1].audit_id if paged else None):
        paged += page
    assert paged == everything
    assert [record.at for record in paged] == sorted((record.at for record in paged), reverse=True)


async def test_lists_can_be_narrowed_by_action_and_time(place_a: TenantDatabase) -> None:
    for action in ("erase", "restore"):
        async with audited(place_a, ALICE, action=action, target="alice"):
            pass
    restored = await acts(place_a, action="restore")
    assert [record.action for record in restored] == ["restore", "restore"]
    assert len(await acts(place_a, since=restored[-1].at)) == 2
    assert len(await acts(place_a, until=restored[-1].at.isoformat())) == 2


async def test_an_owner_sees_its_own_acts_and_nobody_sees_all(place_a: TenantDatabase) -> None:
    for scope in (ALICE, BOB, NOBODY):
        async with audited(place_a, scope, action="erase", target="x"):
            pass
    assert {record.owner for record in await acts(place_a, ALICE)} == {"alice"}
    assert [record.owner for record in await acts(place_a, NOBODY)] == [
        None,
        None,
        "bob",
        "bob",
        "alice",
        "alice",
    ]
    with pytest.raises(NotFoundError, match="not in this list"):
        await acts(place_a, ALICE, before=(await acts(place_a, BOB))[0].audit_id)


async def test_tenants_do_not_see_each_others_acts(place_a: TenantDatabase, place_b: TenantDatabase) -> None:
    async with audited(place_a, ALICE, action="erase", target="alice"):
        assert await unfinished_acts(place_b, NOBODY, limit=10) == []
    assert await acts(place_b, NOBODY) == []


ATTACKS: list[str] = [
    "UPDATE traces.audit_log SET phase = 'succeeded'",
    "UPDATE traces.audit_log SET at = now()",
    "DELETE FROM traces.audit_log",
    "TRUNCATE traces.audit_log",
    "DROP TABLE traces.audit_log",
    "ALTER TABLE traces.audit_log DISABLE ROW LEVEL SECURITY",
]


async def test_the_application_cannot_change_what_was_audited(
    place_a: TenantDatabase,
    tenant_a: Tenant,
    connect_as: ConnectAs,
    admin: AppConnection,
    subtests: pytest.Subtests,
) -> None:
    async with audited(place_a, ALICE, action="erase", target="alice"):
        pass
    before = admin.execute("SELECT * FROM traces.audit_log ORDER BY at").fetchall()
    assert len(before) == 2
    for attack in ATTACKS:
        with subtests.test(attack=attack):
            with pytest.raises(pg.InsufficientPrivilege):
                connect_as(tenant_a).execute(attack.encode())
            assert admin.execute("SELECT * FROM traces.audit_log ORDER BY at").fetchall() == before


FILL_LOG = """
INSERT INTO traces.audit_log (tenant_id, audit_id, intent_id, process, action, target, phase, detail, at)
SELECT %(tenant)s, uuid_at(n, phase), CASE WHEN phase <> 'intent' THEN uuid_at(n, 'intent') END, 'test',
    'action ' || n %% 100, 'x', phase, '{}', now() - n * interval '1 second'
FROM generate_series(1, 6000) AS n,
LATERAL (VALUES ('intent'), (CASE n %% 100 WHEN 0 THEN 'failed' ELSE 'succeeded' END)) AS phases (phase)
ORDER BY phase = 'intent' DESC
"""
UUID_AT = """
CREATE FUNCTION pg_temp.uuid_at(n bigint, phase text) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN md5(n || CASE phase WHEN 'intent' THEN 'a' ELSE 'b' END)::uuid
"""


async def test_a_page_of_operations_reads_an_index_not_the_whole_log(
    place_a: TenantDatabase, admin: AppConnection
) -> None:
    admin.execute(UUID_AT)
    admin.execute(FILL_LOG.replace("uuid_at", "pg_temp.uuid_at").encode(), {"tenant": place_a.tenant.id})
    admin.execute("ANALYZE traces.audit_log")
    for filters, index in (
        ({}, "audit_log_recent"),
        ({"action": "action 7"}, "audit_log_action"),
        ({"outcome": "failed"}, "audit_log_phase"),
    ):
        plan = await plan_of_operations(place_a, filters)
        assert index in plan, plan
        assert "Seq Scan" not in plan, plan
        removed = sum(int(count) for count in re.findall(r"Rows Removed by Filter: (\d+)", plan))
        assert removed < 500, plan


async def plan_of_operations(place: TenantDatabase, filters: dict[str, str]) -> str:
    wanted = {"action": None, "outcome": None} | filters
    parameters = wanted | {
        "owner": None,
        "since": None,
        "until": None,
        "before_at": None,
        "before_id": None,
        "only_unfinished": False,
        "limit": 51,
    }
    name = "ended_acts.list" if wanted["outcome"] else "acts.list"
    async with place.transaction() as transaction:
        explained = await transaction.connection.execute(
            f"EXPLAIN ANALYZE {query(name)}".encode(), transaction.values(name, parameters)
        )
        return "\n".join(str(row["QUERY PLAN"]) for row in await explained.fetchall())
