"""Wakeups: workers and followers are woken after the commit, never before it, and never without one."""

import asyncio

import psycopg
import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.db.wakeups import WAKEUPS, Wakeup, Wakeups, notify_channel, wakeups_in
from tests.db.test_listen import listening
from tests.waiting import wait_for


async def leave_wakeup(database: Database, tenant: Tenant, text: str, *, fails: bool = False) -> None:
    async with database.transaction(tenant) as transaction:
        await transaction.connection.execute("SELECT set_config('mnemic.wakeups', %s, false)", (text,))
        assert 1 / (0 if fails else 1)


def test_unknown_wakeups_are_ignored() -> None:
    assert wakeups_in("events,jobs") == WAKEUPS
    assert wakeups_in("jobs,nonsense,") == {"jobs"}
    assert wakeups_in("") == wakeups_in(None) == frozenset()


async def test_a_wakeup_reaches_this_process_after_the_commit(database: Database, tenant_a: Tenant) -> None:
    heard: list[str] = []
    database.on_wakeup("jobs", lambda: heard.append("jobs"))
    unregister = database.on_wakeup("events", lambda: heard.append("events"))
    async with database.transaction(tenant_a) as transaction:
        await transaction.connection.execute("SELECT set_config('mnemic.wakeups', 'jobs,events', false)")
        assert heard == []
    assert sorted(heard) == ["events", "jobs"]
    unregister()
    await leave_wakeup(database, tenant_a, "events")
    assert sorted(heard) == ["events", "jobs"]


async def test_later_transactions_on_the_connection_do_not_repeat_a_wakeup(
    database: Database, tenant_a: Tenant
) -> None:
    heard: list[str] = []
    database.on_wakeup("jobs", lambda: heard.append("jobs"))
    await leave_wakeup(database, tenant_a, "jobs")
    for _ in range(5):
        await leave_wakeup(database, tenant_a, "")
    assert heard == ["jobs"]


async def test_a_rolled_back_transaction_sends_no_wakeup(database: Database, tenant_a: Tenant) -> None:
    heard: list[str] = []
    database.on_wakeup("jobs", lambda: heard.append("jobs"))
    with pytest.raises(ZeroDivisionError):
        await leave_wakeup(database, tenant_a, "jobs", fails=True)
    assert heard == []


async def test_a_wakeup_reaches_other_processes_by_notify(
    access: Access, database: Database, tenant_a: Tenant
) -> None:
    async with listening(access, [notify_channel("jobs"), notify_channel("events")]) as ear:
        await leave_wakeup(database, tenant_a, "jobs")
        await wait_for(lambda: ear.heard == [("mnemic_jobs", "")], what="the notification")
        await leave_wakeup(database, tenant_a, "events")
        await wait_for(lambda: ear.heard[1:] == [("mnemic_events", "")], what="the other notification")


async def test_a_burst_of_wakeups_is_sent_a_few_times_and_the_last_one_is_not_lost() -> None:
    sent: list[Wakeup] = []

    async def notify(wakeup: Wakeup) -> None:
        sent.append(wakeup)

    wakeups = Wakeups(notify)
    wakeups.send({"jobs"})
    await asyncio.sleep(0)
    for _ in range(1_000):
        wakeups.send({"jobs"})
    wakeups.send({"events"})
    await wait_for(lambda: len(sent) == 3, what="the second sending")
    await wakeups.aclose()
    assert sent == ["jobs", "events", "jobs"]


async def test_closing_sends_pending_wakeups_and_nothing_afterwards() -> None:
    sent: list[Wakeup] = []

    async def notify(wakeup: Wakeup) -> None:
        sent.append(wakeup)

    wakeups = Wakeups(notify)
    wakeups.send({"jobs"})
    await wakeups.aclose()
    wakeups.send({"events"})
    assert sent == ["jobs"]


async def test_an_unreachable_server_does_not_make_sending_fail(caplog: pytest.LogCaptureFixture) -> None:
    async def notify(wakeup: Wakeup) -> None:
        raise psycopg.OperationalError("the server is away")

    wakeups = Wakeups(notify)
    with caplog.at_level("INFO", "mnemic.wakeups"):
        wakeups.send({"jobs"})
        await wakeups.aclose()
    assert "by polling" in caplog.text
