"""`memory.schedules`: jobs that come again and again."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.jobs import schedules
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.schedule import Schedule


class AsyncSchedules(CallGroup):
    """Jobs that come again and again, once per tick however many workers there are.

    A worker (or pg_cron) does the ticking, by the clock of the database. Ticks that were missed because
    nobody was there come once, as soon as somebody is.
    """

    @routed("schedules.set")
    async def set(
        self,
        name: str,
        job_type: str,
        *,
        cron: str | None = None,
        every_s: int | None = None,
        timezone: str = schedules.UTC,
        payload: Mapping[str, Any] | None = None,
        priority: int = 0,
        enabled: bool | None = None,
        owner: str | None = None,
    ) -> Schedule:
        """Make a schedule, or change the one of this name, and return it.

        It ticks by `cron` ("30 3 * * mon-fri", "@daily") in a time zone, or `every_s` seconds. Setting what
        is set already changes nothing, so a program may do it at each start. `enabled` leaves a paused one
        paused unless it is given. `owner` is whom the payload is about, if anybody: the schedule is erased
        with them.
        """
        return await schedules.set_schedule(
            self._caller.database,
            name,
            job_type,
            cron=cron,
            every_s=every_s,
            timezone=timezone,
            payload={} if payload is None else payload,
            priority=priority,
            enabled=enabled,
            owner=owner,
        )

    @routed("schedules.get")
    async def get(self, name: str) -> Schedule | None:
        """The schedule of a name, or None."""
        return await schedules.get_schedule(self._caller.database, name)

    @routed("schedules.list")
    async def list(self, *, after: str = "", limit: int = 100) -> Sequence[Schedule]:
        """Schedules by name; `after` is the last name of the page before."""
        return await schedules.list_schedules(self._caller.database, after=after, limit=limit)

    @routed("schedules.delete")
    async def delete(self, name: str) -> bool:
        """Delete a schedule; returns whether there was one. Jobs that it made stay."""
        return await schedules.delete_schedule(self._caller.database, name)

    @routed("schedules.pause")
    async def pause(self, name: str) -> Schedule:
        """Let a schedule tick no more until it is resumed."""
        return await schedules.pause_schedule(self._caller.database, name)

    @routed("schedules.resume")
    async def resume(self, name: str) -> Schedule:
        """Let a paused schedule tick again, from its next tick on: what it slept through does not come."""
        return await schedules.resume_schedule(self._caller.database, name)
