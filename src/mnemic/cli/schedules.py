"""`mnemic schedules`: list, set, pause and delete recurring jobs."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer
from rich.markup import escape

from mnemic.backup.restore import admin_conninfo
from mnemic.cli.json_options import parse_object
from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DataDir, Json, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.config import DEFAULT_TENANT
from mnemic.errors import NotFoundError
from mnemic.jobs.scheduler import leave_pg_cron, use_pg_cron
from mnemic.runtime.storage import limits_of
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.schedule import Schedule

Name = Annotated[str, typer.Argument(help="The name of the schedule.")]
Limit = Annotated[int, typer.Option("--limit", help="Maximum number to list.")]

app = typer.Typer(help="List, set, pause and delete recurring jobs.", no_args_is_help=True)


@app.command("list")
def list_(
    limit: Limit = 100,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List the schedules of the tenant, by name."""
    found = run_call(
        memory_from(url, data_dir, tenant, worker=False), lambda memory: memory.schedules.list(limit=limit)
    )
    _print_schedules(found, json)


@app.command("set")
def set_(
    name: Name,
    job_type: Annotated[str, typer.Argument(help="The type of the job.")],
    cron: Annotated[
        str | None, typer.Option("--cron", help="Cron expression, such as '30 3 * * mon-fri' or @daily.")
    ] = None,
    every_s: Annotated[int | None, typer.Option("--every", help="Interval in seconds.")] = None,
    timezone: Annotated[str, typer.Option("--timezone", help="Time zone of the cron expression.")] = "UTC",
    payload: Annotated[str, typer.Option("--payload", help="Payload for the handler, a JSON object.")] = "{}",
    priority: Annotated[int, typer.Option("--priority", help="-100 to 100; higher runs first.")] = 0,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Create a schedule, or change the one with this name."""
    given = parse_object("--payload", payload)
    made = run_call(
        memory_from(url, data_dir, tenant, worker=False, creates_tenant=True),
        lambda memory: memory.schedules.set(
            name, job_type, cron=cron, every_s=every_s, timezone=timezone, payload=given, priority=priority
        ),
    )
    _print_schedules([made], json)


@app.command()
def delete(
    name: Name, url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False
) -> None:
    """Delete a schedule. Jobs that it enqueued stay."""
    if not run_call(
        memory_from(url, data_dir, tenant, worker=False), lambda memory: memory.schedules.delete(name)
    ):
        raise NotFoundError(f"There is no schedule {name!r}. `mnemic schedules list` shows what there is.")
    if json:
        print_json({"deleted": name})
    else:
        print_line(f"Deleted: {one_line(name)}")


@app.command()
def pause(
    name: Name, url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False
) -> None:
    """Pause a schedule until it is resumed."""
    _print_schedules(
        [
            run_call(
                memory_from(url, data_dir, tenant, worker=False), lambda memory: memory.schedules.pause(name)
            )
        ],
        json,
    )


@app.command()
def resume(
    name: Name, url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False
) -> None:
    """Resume a paused schedule."""
    _print_schedules(
        [
            run_call(
                memory_from(url, data_dir, tenant, worker=False), lambda memory: memory.schedules.resume(name)
            )
        ],
        json,
    )


@app.command("pg-cron")
def pg_cron(
    off: Annotated[bool, typer.Option("--off", help="Let the workers enqueue due jobs again.")] = False,
    url: Url = None,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Let pg_cron enqueue due jobs of all tenants. A URL must be an administrator's."""

    async def switch(memory: AsyncMemory) -> bool:
        conninfo, limits = admin_conninfo(memory._core), limits_of(memory._core.settings)
        if off:
            return await leave_pg_cron(conninfo, limits)
        await use_pg_cron(conninfo, limits)
        return True

    changed = run_call(memory_from(url, data_dir, DEFAULT_TENANT, worker=False), switch)
    if json:
        print_json({"uses_pg_cron": False, "changed": changed} if off else {"uses_pg_cron": True})
    elif off:
        print_line("The workers enqueue due jobs again." if changed else "pg_cron was not in use.")
    else:
        print_line("pg_cron enqueues due jobs from now on; workers step in if it is late.")


def _print_schedules(schedules: Sequence[Schedule], json: bool) -> None:
    if json:
        print_json({"schedules": [asdict(schedule) for schedule in schedules]})
        return
    listing = table("schedule", "job", "when", "next (UTC)", "last (UTC)")
    for schedule in schedules:
        paused = f"paused: {schedule.problem}" if schedule.problem else "paused"
        listing.add_row(
            escape(one_line(schedule.name)),
            escape(schedule.job_type),
            escape(_when(schedule)),
            _shown(schedule.next_run_at) if schedule.enabled else escape(one_line(paused)),
            _shown(schedule.last_run_at),
        )
    out.print(listing)


def _when(schedule: Schedule) -> str:
    if schedule.every_s is not None:
        return _interval(schedule.every_s)
    return f"{schedule.cron} ({schedule.timezone})"


def _interval(seconds: int) -> str:
    for name, length_s in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count, rest = divmod(seconds, length_s)
        if count and not rest:
            return f"every {name}" if count == 1 else f"every {count} {name}s"
    return f"every {seconds} s"


def _shown(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment is not None else ""
