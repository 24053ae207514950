"""`mnemic jobs`: list, show, enqueue, cancel and replay jobs."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeVar, cast

import typer
from rich.markup import escape

from mnemic.cli.json_options import parse_object
from mnemic.cli.opening import memory_from, run_call
from mnemic.cli.options import DataDir, Json, Owner, TenantName, Url
from mnemic.cli.output import one_line, out, print_json, print_line, table
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.job import Job, JobState

ERROR_SHOWN_CHARACTERS = 60

Result = TypeVar("Result")

JobId = Annotated[str, typer.Argument(help="The id of the job, from `mnemic jobs list`.")]
State = Annotated[
    str | None,
    typer.Option("--state", help="Only this state: waiting, scheduled, running, done, dead or cancelled."),
]
Type = Annotated[str | None, typer.Option("--type", help="Only jobs of this type.")]
Limit = Annotated[int, typer.Option("--limit", help="Maximum number to list.")]

app = typer.Typer(help="List, show, enqueue, cancel and replay jobs.", no_args_is_help=True)


@app.command("list")
def list_(
    state: State = None,
    type: Type = None,
    limit: Limit = 20,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List the jobs of the tenant, newest first."""
    wanted = cast("JobState | None", state)
    found = _run(url, data_dir, tenant, lambda memory: memory.jobs.list(state=wanted, type=type, limit=limit))
    _print_jobs(found, json)


@app.command()
def dead(
    type: Type = None,
    limit: Limit = 20,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """List dead letters: jobs that failed for good."""
    _print_jobs(_run(url, data_dir, tenant, lambda memory: memory.jobs.dead(type=type, limit=limit)), json)


@app.command()
def show(
    job_id: JobId, url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False
) -> None:
    """Show a job and all its attempts."""
    job = _run(url, data_dir, tenant, lambda memory: memory.jobs.status(job_id))
    if json:
        print_json(asdict(job))
        return
    _print_jobs([job], json=False)
    for attempt in job.history:
        why = f": {attempt.error.type}: {one_line(attempt.error.message)}" if attempt.error else ""
        print_line(f"{attempt.outcome} after {attempt.duration_s:.1f} s on {attempt.worker}{why}")


@app.command()
def enqueue(
    type: Annotated[str, typer.Argument(help="The type of the job.")],
    payload: Annotated[str, typer.Option("--payload", help="Payload for the handler, a JSON object.")] = "{}",
    key: Annotated[
        str | None, typer.Option("--key", help="Idempotency key: enqueue only once under this key.")
    ] = None,
    priority: Annotated[int, typer.Option("--priority", help="-100 to 100; higher runs first.")] = 0,
    run_at: Annotated[
        str | None, typer.Option("--run-at", help="Not before this time: a date, or a date and time.")
    ] = None,
    owner: Owner = None,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Enqueue a job."""
    given = parse_object("--payload", payload)
    job = run_call(
        memory_from(url, data_dir, tenant, worker=False, creates_tenant=True),
        lambda memory: memory.jobs.enqueue(
            type, given, key=key, priority=priority, run_at=run_at, owner=owner
        ),
    )
    _print_jobs([job], json)


@app.command()
def cancel(
    job_id: JobId, url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False
) -> None:
    """Cancel a job. A running job is asked to stop."""
    _print_jobs([_run(url, data_dir, tenant, lambda memory: memory.jobs.cancel(job_id))], json)


@app.command()
def replay(
    job_id: JobId, url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False
) -> None:
    """Run a dead job again."""
    _print_jobs([_run(url, data_dir, tenant, lambda memory: memory.jobs.replay(job_id))], json)


@app.command("replay-dead")
def replay_dead(
    type: Type = None,
    owner: Owner = None,
    since: Annotated[str | None, typer.Option("--since", help="Only jobs that died since then.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Only jobs that died before then.")] = None,
    limit: Annotated[int, typer.Option("--limit", help="Maximum number to run again.")] = 1000,
    url: Url = None,
    data_dir: DataDir = None,
    tenant: TenantName = None,
    json: Json = False,
) -> None:
    """Run all dead jobs again that match, the oldest first."""
    count = _run(
        url,
        data_dir,
        tenant,
        lambda memory: memory.jobs.replay_dead(type=type, owner=owner, since=since, until=until, limit=limit),
    )
    if json:
        print_json({"replayed_count": count})
    else:
        print_line(f"{count:,} jobs wait again.")


@app.command()
def counts(url: Url = None, data_dir: DataDir = None, tenant: TenantName = None, json: Json = False) -> None:
    """Count jobs by state and type, up to 10,000 of each state."""
    found = _run(url, data_dir, tenant, lambda memory: memory.jobs.counts())
    if json:
        print_json([asdict(each) for each in found])
        return
    listing = table("state", "type", "jobs", empty="No jobs.")
    for each in found:
        more = "+" if each.has_more else ""
        listing.add_row(each.state, escape(each.type), f"{each.job_count:,}{more}")
    out.print(listing)


def _run(
    url: str | None,
    data_dir: Path | None,
    tenant: str | None,
    call: Callable[[AsyncMemory], Awaitable[Result]],
) -> Result:
    return run_call(memory_from(url, data_dir, tenant, worker=False), call)


def _print_jobs(jobs: Sequence[Job], json: bool) -> None:
    if json:
        print_json({"jobs": [asdict(job) for job in jobs]})
        return
    listing = table("job", "type", "state", "attempts", "progress", "error", empty="No jobs.")
    for job in jobs:
        error = one_line(job.error.message)[:ERROR_SHOWN_CHARACTERS] if job.error is not None else ""
        listing.add_row(
            str(job.job_id),
            escape(job.type),
            job.state,
            f"{job.attempts} of {job.max_attempts}",
            escape(_progress(job)),
            escape(error),
        )
    out.print(listing)


def _progress(job: Job) -> str:
    if job.progress is None:
        return ""
    total = f" of {job.progress.total:g}" if job.progress.total is not None else ""
    done = f"{job.progress.done:g}{total}" if job.progress.done is not None else ""
    return one_line(f"{done} {job.progress.note or ''}")
