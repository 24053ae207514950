"""Show the progress of a job until it ends."""

from uuid import UUID

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from mnemic.cli.output import err
from mnemic.errors import ConflictError
from mnemic.sdk.memory import AsyncMemory

SHOW_EVERY_S = 0.2


async def follow_job(memory: AsyncMemory, job_id: UUID, title: str, *, quiet: bool) -> None:
    """Show a progress bar until a job ends; ConflictError unless it ends as `done`."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, disable=quiet) as bar:
        task = bar.add_task(escape(title), total=None)
        while not (job := await memory.jobs.wait(job_id, timeout_s=SHOW_EVERY_S)).has_ended:
            if job.progress is not None and job.progress.total is not None:
                bar.update(task, completed=job.progress.done or 0, total=job.progress.total)
        if job.state == "done" and job.progress is not None and job.progress.total is not None:
            bar.update(task, completed=job.progress.total, total=job.progress.total)
    if job.state != "done":
        reason = f": {job.error.message}" if job.error is not None else "."
        raise ConflictError(f"The job {job_id} is {job.state}{reason} See `mnemic jobs show {job_id}`.")
