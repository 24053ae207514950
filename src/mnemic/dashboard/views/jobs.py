"""The page Jobs: what waits, runs, is done or died, with its errors; replays, cancelling, and schedules."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from mnemic.dashboard.pages import Answer, Page, Redirected, Shown, View
from mnemic.dashboard.rendering import when
from mnemic.dashboard.visit import Visit
from mnemic.errors import InvalidInputError
from mnemic.jobs.queue import REPLAY_MAX
from mnemic.types.job import JOB_STATES, JobCount, JobState

LISTED_MAX = 20
"""Jobs on one page: each may have a traceback, and a page stays below 60 kB."""
TRACEBACK_SHOWN_CHARACTERS = 900
"""The end of a traceback that the list shows; the page of a job has all of it."""
SCHEDULES_MAX = 100
TYPES_SHOWN = 20
SINCE: Mapping[str, timedelta] = {
    "1 hour": timedelta(hours=1),
    "24 hours": timedelta(hours=24),
    "7 days": timedelta(days=7),
}
"""The choices of when a job died."""


async def show(visit: Visit) -> Answer:
    """List jobs, newest first, with the counts of all states."""
    query, jobs = visit.query, visit.tenant_memory.jobs
    state = query.choice("state", JOB_STATES, default="")
    type, since = query.name("type"), query.choice("since", SINCE, default="")
    found = await jobs.list(
        state=cast("JobState | None", state or None),
        type=type,
        before=query.id("before"),
        limit=LISTED_MAX + 1,
    )
    context = {
        **_counted(await jobs.counts(), state, type),
        "listed": found[:LISTED_MAX],
        "older": found[LISTED_MAX - 1].job_id if len(found) > LISTED_MAX else None,
        "state": state,
        "type": type,
        "since": since,
        "choices": tuple(SINCE),
        "traceback_shown": TRACEBACK_SHOWN_CHARACTERS,
        "replay_max": REPLAY_MAX,
        "schedules": await visit.tenant_memory.schedules.list(limit=SCHEDULES_MAX),
    }
    return Shown("jobs.html", context, fragments={"#jobs": "fragments/_jobs.html"})


async def show_one(visit: Visit) -> Answer:
    """Show a job with its payload, its result and all attempts."""
    job = await visit.tenant_memory.jobs.status(visit.path["job_id"])
    return Shown("job.html", {"job": job})


async def replay(visit: Visit) -> Answer:
    """Run a dead job again."""
    form = await visit.form()
    job = await visit.tenant_memory.jobs.replay(form.required_id("job_id"))
    return Redirected(_back(visit), f"The job {job.type} waits again.")


async def replay_all(visit: Visit) -> Answer:
    """Run all dead jobs again that match the filter of the page."""
    form = await visit.form()
    since = form.choice("since", SINCE, default="")
    count = await visit.tenant_memory.jobs.replay_dead(
        type=form.name("type"),
        since=datetime.now(UTC) - SINCE[since] if since else None,
        limit=REPLAY_MAX,
    )
    more = " There may be more: replay again." if count == REPLAY_MAX else ""
    return Redirected(_back(visit), f"{count:,} {'job waits' if count == 1 else 'jobs wait'} again.{more}")


async def cancel(visit: Visit) -> Answer:
    """Cancel a job, or ask its worker to stop it."""
    form = await visit.form()
    job = await visit.tenant_memory.jobs.cancel(form.required_id("job_id"))
    done = "is cancelled" if job.state == "cancelled" else "was asked to stop"
    return Redirected(_back(visit), f"The job {job.type} {done}.")


async def change_schedule(visit: Visit) -> Answer:
    """Pause or resume a schedule."""
    form = await visit.form()
    name = next(iter(form.all("name")), "")
    if not name:
        raise InvalidInputError("name is missing: the schedule to pause or resume.")
    schedules = visit.tenant_memory.schedules
    if form.choice("act", ("pause", "resume"), default="pause") == "pause":
        await schedules.pause(name)
        return Redirected(_back(visit), f"Paused {name}.")
    resumed = await schedules.resume(name)
    return Redirected(_back(visit), f"Resumed {name}; next run {when(resumed.next_run_at)} UTC.")


def _counted(counts: Sequence[JobCount], state: str, type: str | None) -> dict[str, Any]:
    """How many jobs there are by state, by type in the chosen state, and of the chosen type in it."""
    by_state, by_type, capped = Counter[str](), Counter[str](), set[str]()
    for each in counts:
        by_state[each.state] += each.job_count
        if not state or each.state == state:
            by_type[each.type] += each.job_count
        if each.has_more:
            capped.add(each.state)
    return {
        "states": [(name, by_state[name], name in capped) for name in JOB_STATES],
        "types": by_type.most_common(TYPES_SHOWN),
        "matching": by_type[type] if type is not None else by_type.total(),
    }


def _back(visit: Visit) -> str:
    """The list as it was filtered: forms send its filter in their address."""
    query = visit.query
    kept = {name: query.name(name) for name in ("state", "type", "since")}
    return visit.url("jobs", **kept)


PAGE = Page(
    name="jobs",
    title="Jobs",
    group="Machinery",
    icon="jobs",
    key="j",
    views=(
        View("GET", "/jobs", show, call="jobs.list"),
        View("GET", "/jobs/{job_id}", show_one, call="jobs.status"),
        View("POST", "/jobs/replay", replay, call="jobs.replay"),
        View("POST", "/jobs/replay-all", replay_all, call="jobs.replay_dead"),
        View("POST", "/jobs/cancel", cancel, call="jobs.cancel"),
        View("POST", "/jobs/schedule", change_schedule, call="schedules.pause"),
    ),
)
