"""Schedules of a tenant: create, change, pause and delete them. `scheduler.py` enqueues their jobs."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.jobs.cron import Cron, parse_cron
from mnemic.jobs.queue import PAYLOAD_MAX_BYTES, PRIORITY_MAX, PRIORITY_MIN, check_type
from mnemic.types.checks import check_flag, check_text, check_whole
from mnemic.types.page import check_limit
from mnemic.types.schedule import Schedule
from mnemic.types.scope import check_name

SCHEDULE_NAME_MAX_CHARACTERS = 128
TIMEZONE_MAX_CHARACTERS = 64
SCHEDULES_MAX = 1_000
"""Maximum schedules of a tenant: every tick reads the schedules of all tenants."""
EVERY_MIN_S = 1
EVERY_MAX_S = 366 * 24 * 60 * 60
UTC = "UTC"

_NO_CRON: dict[str, Any] = dict.fromkeys(field.name for field in fields(Cron))


async def set_schedule(
    database: TenantDatabase,
    name: str,
    job_type: str,
    *,
    cron: str | None,
    every_s: int | None,
    timezone: str,
    payload: Mapping[str, Any],
    priority: int,
    enabled: bool | None,
    owner: str | None,
) -> Schedule:
    """Create or change a schedule. An enabled one whose times stay the same keeps its next tick."""
    parameters = {
        "tenant_id": database.tenant.id,
        "name": _check_schedule_name(name),
        "job_type": check_type(job_type),
        "payload": as_jsonb_object("payload", payload, max_bytes=PAYLOAD_MAX_BYTES),
        "priority": check_whole("priority", priority, PRIORITY_MIN, PRIORITY_MAX),
        "enabled": check_flag("enabled", enabled) if enabled is not None else None,
        "owner": check_name("owner", owner) if owner is not None else None,
        "timezone": check_text("timezone", timezone, max_characters=TIMEZONE_MAX_CHARACTERS),
        **_timing(cron, every_s),
    }
    async with database.transaction() as transaction:
        await _require_timezone(transaction, timezone)
        await _require_room(transaction, name)
        row = await transaction.first("schedules.set", parameters)
    if row is None:
        raise InvalidInputError(f"cron: {cron!r} never comes: there is no such day in any year.")
    return Schedule(**row)


async def get_schedule(database: TenantDatabase, name: str) -> Schedule | None:
    """The schedule, or None."""
    async with database.transaction() as transaction:
        row = await transaction.first("schedules.get", {"name": _check_schedule_name(name)})
    return Schedule(**row) if row is not None else None


async def list_schedules(database: TenantDatabase, *, after: str, limit: int) -> list[Schedule]:
    """Schedules ordered by name, after the name `after`."""
    parameters = {
        "after": _check_schedule_name(after) if after != "" else "",
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [Schedule(**row) for row in await transaction.rows("schedules.list", parameters)]


async def delete_schedule(database: TenantDatabase, name: str) -> bool:
    """Delete the schedule; returns whether there was one."""
    async with database.transaction() as transaction:
        return await transaction.execute("schedules.delete", {"name": _check_schedule_name(name)}) > 0


async def pause_schedule(database: TenantDatabase, name: str) -> Schedule:
    """Pause it until it is resumed."""
    return await _changed(database, "schedules.pause", name)


async def resume_schedule(database: TenantDatabase, name: str) -> Schedule:
    """Resume it; ticks during the pause are not made up for."""
    return await _changed(database, "schedules.resume", name)


async def _changed(database: TenantDatabase, query_name: str, name: str) -> Schedule:
    async with database.transaction() as transaction:
        row = await transaction.first(query_name, {"name": _check_schedule_name(name)})
    if row is None:
        raise NotFoundError(f"There is no schedule {name!r}. `memory.schedules.list()` lists the schedules.")
    return Schedule(**row)


def _timing(cron: str | None, every_s: int | None) -> dict[str, Any]:
    """The columns that say when it ticks: by cron or by an interval."""
    if (cron is None) == (every_s is None):
        raise InvalidInputError("Give either cron or every_s: a schedule ticks by one of the two.")
    if cron is None:
        return {
            "cron": None,
            "every_s": check_whole("every_s", every_s, EVERY_MIN_S, EVERY_MAX_S),
            **_NO_CRON,
        }
    ticks = parse_cron(cron)
    return {
        "cron": cron.strip(),
        "every_s": None,
        "minutes": list(ticks.minutes),
        "hours": list(ticks.hours),
        "days": list(ticks.days),
        "months": list(ticks.months),
        "weekdays": list(ticks.weekdays),
        "either_day": ticks.either_day,
    }


async def _require_timezone(transaction: Transaction, timezone: str) -> None:
    # Reading the list of time zones is slow, and most schedules use UTC.
    if timezone == UTC:
        return
    if not (await transaction.one("schedules.has_timezone", {"timezone": timezone}))["has_timezone"]:
        raise InvalidInputError(
            f"timezone: {timezone!a} is not known to the database. It is written as in Europe/Berlin, or UTC."
        )


async def _require_room(transaction: Transaction, name: str) -> None:
    if (await transaction.one("schedules.count_others", {"name": name}))["other_count"] >= SCHEDULES_MAX:
        raise InvalidInputError(f"A tenant has at most {SCHEDULES_MAX:,} schedules. Delete one first.")


def _check_schedule_name(name: object) -> str:
    checked = check_name("name", name)
    if len(checked) > SCHEDULE_NAME_MAX_CHARACTERS:
        raise InvalidInputError(f"name must have at most {SCHEDULE_NAME_MAX_CHARACTERS} characters.")
    return checked
