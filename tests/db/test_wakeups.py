"""Hints: whoever waits for jobs or events is woken after the commit, never before, and never without one."""

import asyncio

import psycopg
import pytest

from mnemic.db.access import Access
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.db.wakeups import HINTS, Hint, Hints, hints_in, notify_channel
from tests.db.test_listen import listening
from tests.waiting import wait_for


async def leave_hint(database: Database, tenant: Tenant, text: str, *, fails: bool = False) -> None:
    async with database.transaction(tenant) as transaction:
        await transaction.connection.execute("SELECT set_config('mnemic.hints', %s, false)", (text,))
        assert 1 / (0 if fails else 1)


def test_only_our_own_hints_are_read() -> None:
    assert hints_in("events,jobs") == HINTS
    assert hints_in("jobs,nonsense,") == {"jobs"}
    assert hints_in("") == hints_in(None) == frozenset()


async def test_a_hint_reaches_this_process_after_the_commit(database: Database, tenant_a: Tenant) -> None:
    heard: list[str] = []
    database.on_hint("jobs", lambda: heard.append("jobs"))
    end = database.on_hint("events", lambda: heard.append("events"))
    async with database.transaction(tenant_a) as transaction:
        await transaction.connection.execute("SELECT set_config('mnemic.hints', 'jobs,events', false)")
        assert heard == []
    assert sorted(heard) == ["events", "jobs"]
    end()
    await leave_hint(database, tenant_a, "events")
    assert sorted(heard) == ["events", "jobs"]


async def test_a_hint_is_left_by_nobody_but_the_transaction_that_gave_it(
    database: Database, tenant_a: Tenant
) -> None:
    heard: list[str] = []
    database.on_hint("jobs", lambda: heard.append("jobs"))
    await leave_hint(database, tenant_a, "jobs")
    for _ in range(5):
        await leave_hint(database, tenant_a, "")
    assert heard == ["jobs"]


async def test_a_transaction_that_was_rolled_back_gives_no_hint(database: Database, tenant_a: Tenant) -> None:
    heard: list[str] = []
    database.on_hint("jobs", lambda: heard.append("jobs"))
    with pytest.raises(ZeroDivisionError):
        await leave_hint(database, tenant_a, "jobs", fails=True)
    assert heard == []


async def test_a_hint_reaches_other_processes_by_notify(
    access: Access, database: Database, tenant_a: Tenant
) -> None:
    async with listening(access, [notify_channel("jobs"), notify_channel("events")]) as ear:
        await leave_hint(database, tenant_a, "jobs")
        await wait_for(lambda: ear.heard == [("mnemic_jobs", "")], what="the notification")
        await leave_hint(database, tenant_a, "events")
        await wait_for(lambda: ear.heard[1:] == [("mnemic_events", "")], what="the other notification")


async def test_a_burst_of_hints_is_sent_a_few_times_and_the_last_one_is_not_lost() -> None:
    sent: list[Hint] = []

    async def notify(hint: Hint) -> None:
        sent.append(hint)

    hints = Hints(notify)
    hints.tell({"jobs"})
    await asyncio.sleep(0)
    for _ in range(1_000):
        hints.tell({"jobs"})
    hints.tell({"events"})
    await wait_for(lambda: len(sent) == 3, what="the second sending")
    await hints.aclose()
    assert sent == ["jobs", "events", "jobs"]


async def test_what_waits_is_sent_when_closing_and_nothing_afterwards() -> None:
    sent: list[Hint] = []

    async def notify(hint: Hint) -> None:
        sent.append(hint)

    hints = Hints(notify)
    hints.tell({"jobs"})
    await hints.aclose()
    hints.tell({"events"})
    assert sent == ["jobs"]


async def test_a_server_that_is_away_does_not_make_hinting_fail(caplog: pytest.LogCaptureFixture) -> None:
    async def notify(hint: Hint) -> None:
        raise psycopg.OperationalError("the server is away")

    hints = Hints(notify)
    with caplog.at_level("INFO", "mnemic.hints"):
        hints.tell({"jobs"})
        await hints.aclose()
    assert "polling makes up for it" in caplog.text
