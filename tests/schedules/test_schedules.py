"""Making, changing, pausing and deleting schedules."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.jobs import schedules
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection, ConnectAs


async def test_a_schedule_by_cron_is_read_back_as_it_was_set(memory: AsyncMemory) -> None:
    made = await memory.schedules.set(
        "digest",
        "mail.digest",
        cron=" 30 8 * * mon-fri ",
        timezone="Europe/Berlin",
        payload={"to": "team"},
        priority=-5,
        owner="alice",
    )
    assert await memory.schedules.get("digest") == made
    assert (made.cron, made.every_s, made.timezone) == ("30 8 * * mon-fri", None, "Europe/Berlin")
    assert (made.payload, made.priority, made.owner, made.enabled) == ({"to": "team"}, -5, "alice", True)
    assert made.next_run_at > datetime.now(UTC)
    assert (made.next_run_at.minute, made.last_run_at, made.last_job_id) == (30, None, None)


async def test_setting_it_again_does_not_put_it_off(memory: AsyncMemory) -> None:
    first = await memory.schedules.set("sync", "sync.run", every_s=3600)
    again = await memory.schedules.set("sync", "sync.run", every_s=3600, payload={"new": True})
    assert again.next_run_at == first.next_run_at
    assert again.payload == {"new": True}
    slower = await memory.schedules.set("sync", "sync.run", every_s=7200)
    assert slower.next_run_at > first.next_run_at + timedelta(minutes=59)
    by_cron = await memory.schedules.set("sync", "sync.run", cron="@hourly")
    assert (by_cron.every_s, by_cron.cron, by_cron.next_run_at.minute) == (None, "@hourly", 0)


async def test_pausing_and_resuming(memory: AsyncMemory, admin: AppConnection) -> None:
    await memory.schedules.set("sync", "sync.run", every_s=3600)
    assert not (await memory.schedules.pause("sync")).enabled
    assert not (await memory.schedules.set("sync", "sync.run", every_s=3600)).enabled
    admin.execute("UPDATE queue.schedules SET next_run_at = now() - interval '10 days' WHERE name = 'sync'")
    resumed = await memory.schedules.resume("sync")
    assert resumed.enabled
    assert timedelta(0) < resumed.next_run_at - datetime.now(UTC) <= timedelta(hours=1)
    assert (await memory.schedules.resume("sync")).next_run_at == resumed.next_run_at
    assert (await memory.schedules.set("sync", "sync.run", every_s=60, enabled=False)).enabled is False
    assert (await memory.schedules.set("sync", "sync.run", every_s=60, enabled=True)).enabled is True


async def test_what_is_not_there(memory: AsyncMemory, foreign_memory: AsyncMemory) -> None:
    await foreign_memory.schedules.set("theirs", "sync.run", every_s=60)
    assert await memory.schedules.get("theirs") is None
    assert await memory.schedules.delete("theirs") is False
    with pytest.raises(NotFoundError, match="There is no schedule 'theirs'"):
        await memory.schedules.pause("theirs")
    with pytest.raises(NotFoundError, match="There is no schedule 'theirs'"):
        await memory.schedules.resume("theirs")


async def test_lists_go_on_behind_the_last_name(memory: AsyncMemory) -> None:
    names = ["a", "b", "c", "d", "e"]
    for name in reversed(names):
        await memory.schedules.set(name, "sync.run", every_s=60)
    page = await memory.schedules.list(limit=2)
    rest = await memory.schedules.list(after=page[-1].name)
    assert [schedule.name for schedule in [*page, *rest]] == names


BAD_INPUT: list[tuple[dict[str, object], str]] = [
    ({}, "either cron or every_s"),
    ({"cron": "@daily", "every_s": 5}, "either cron or every_s"),
    ({"cron": "61 * * * *"}, "'61' is no minute"),
    ({"cron": "0 0 30 2 *"}, "never comes"),
    ({"every_s": 0}, "every_s must be a whole number from 1 to"),
    ({"every_s": 366 * 86_400 + 1}, "every_s must be a whole number from 1 to"),
    ({"every_s": True}, "every_s must be a whole number"),
    ({"every_s": 1.5}, "every_s must be a whole number"),
    ({"every_s": 60, "timezone": "Europe/Atlantis"}, "'Europe/Atlantis' is not known"),
    ({"every_s": 60, "timezone": "utc+3"}, "is not known"),
    ({"every_s": 60, "timezone": ""}, "timezone must not be empty"),
    ({"every_s": 60, "priority": 101}, "priority must be a whole number from -100 to 100"),
    ({"every_s": 60, "payload": {"at": datetime.now(UTC)}}, "payload must be JSON"),
    ({"every_s": 60, "payload": {"text": "x" * 70_000}}, "payload is .* bytes"),
    ({"every_s": 60, "payload": []}, "payload must be a mapping"),
    ({"every_s": 60, "enabled": "yes"}, "enabled must be True or False"),
    ({"every_s": 60, "owner": ""}, "owner must have 1 to 256"),
    ({"every_s": 60, "job_type": "Not A Type"}, "type must be"),
    ({"every_s": 60, "name": ""}, "name must have"),
    ({"every_s": 60, "name": "n" * 129}, "name must have at most 128"),
    ({"every_s": 60, "name": "a\nb"}, "control characters"),
]


async def test_bad_input_is_refused_and_nothing_is_written(
    memory: AsyncMemory, subtests: pytest.Subtests
) -> None:
    for wrong, complaint in BAD_INPUT:
        given: dict[str, object] = {"name": "bad", "job_type": "sync.run"} | wrong
        name, job_type = given.pop("name"), given.pop("job_type")
        with subtests.test(complaint):
            with pytest.raises(InvalidInputError, match=complaint):
                await memory.schedules.set(name, job_type, **given)  # type: ignore[arg-type]
            assert await memory.schedules.list() == []


async def test_a_tenant_has_a_bounded_number_of_schedules(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "SCHEDULES_MAX", 2)
    await memory.schedules.set("first", "sync.run", every_s=60)
    await memory.schedules.set("one more", "sync.run", every_s=60)
    await memory.schedules.set("one more", "sync.run", every_s=90)
    with pytest.raises(InvalidInputError, match="at most 2 schedules"):
        await memory.schedules.set("too many", "sync.run", every_s=60)


async def test_a_schedule_about_somebody_is_erased_with_them(memory: AsyncMemory) -> None:
    await memory.schedules.set("hers", "mail.digest", every_s=60, owner="alice")
    await memory.schedules.set("ours", "mail.digest", every_s=60)
    receipt = await memory.admin.erase("alice")
    assert receipt.rows["queue.schedules"] == 1
    assert await memory.schedules.get("hers") is None
    assert await memory.schedules.get("ours") is not None


async def test_a_tenant_sees_and_changes_only_its_own(
    connect_as: ConnectAs,
    tenant_a: Tenant,
    tenant_b: Tenant,
    memory: AsyncMemory,
    foreign_memory: AsyncMemory,
) -> None:
    for each in (memory, foreign_memory):
        await each.schedules.set("sync", "sync.run", every_s=60)
    connection = connect_as(tenant_a)
    found = connection.execute("SELECT DISTINCT tenant_id FROM queue.schedules").fetchall()
    assert found == [(tenant_a.id,)]
    changed = connection.execute(
        "UPDATE queue.schedules SET payload = '{\"stolen\": true}' WHERE tenant_id = %s", [tenant_b.id]
    )
    assert changed.rowcount == 0
