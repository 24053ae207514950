"""`memory.schedules`: recurring jobs."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.jobs import schedules
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.schedule import Schedule


class AsyncSchedules(CallGroup):
    """Recurring jobs: each tick enqueues one job, however many workers run.

    A worker (or pg_cron) evaluates schedules by the clock of the database. Ticks that were missed while no
    worker ran are made up for by one job as soon as a worker runs.
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
        """Create or change the schedule of this name, and return it.

        It ticks by `cron` ("30 3 * * mon-fri", "@daily") in a time zone, or every `every_s` seconds. Setting
        the same values again does nothing, so a program may do it at each start. Without `enabled` a paused
        schedule stays paused. `owner` is the owner that the payload is about, if any: erasing the owner
        erases the schedule.
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
        """Return the schedule of a name, or None."""
        return await schedules.get_schedule(self._caller.database, name)

    @routed("schedules.list")
    async def list(self, *, after: str = "", limit: int = 100) -> Sequence[Schedule]:
        """Return schedules by name; `after` is the last name of the previous page."""
        return await schedules.list_schedules(self._caller.database, after=after, limit=limit)

    @routed("schedules.delete")
    async def delete(self, name: str) -> bool:
        """Delete a schedule; returns whether it existed. Jobs that it enqueued are kept."""
        return await schedules.delete_schedule(self._caller.database, name)

    @routed("schedules.pause")
    async def pause(self, name: str) -> Schedule:
        """Stop a schedule until it is resumed."""
        return await schedules.pause_schedule(self._caller.database, name)

    @routed("schedules.resume")
    async def resume(self, name: str) -> Schedule:
        """Resume a paused schedule at its next tick; ticks missed during the pause are skipped."""
        return await schedules.resume_schedule(self._caller.database, name)
