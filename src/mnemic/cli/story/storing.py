"""Stores the story: a year of four owners, recorded over that year, and what is done with it today.

Everything goes through the public calls, except the counts of calls in past hours. Storing all four owners
takes about a quarter of a minute.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemic import Memory
from mnemic.cli.story.helpdesk import HELPDESK
from mnemic.cli.story.mara import MARA
from mnemic.cli.story.parts import Story
from mnemic.cli.story.playing import play
from mnemic.cli.story.river import RIVER
from mnemic.cli.story.time_lapse import TimeLapse
from mnemic.cli.story.workshop import WORKSHOP
from mnemic.jobs.handlers import RunningJob
from mnemic.memory_map.reading import MAP_JOB
from mnemic.runtime.hourly_metrics import HourCounts, HourKey

STORIES = (MARA, WORKSHOP, HELPDESK, RIVER)
JOB_TIMEOUT_S = 30.0

Report = Callable[[str], None]
OpenDraft = Callable[[], AbstractContextManager[Memory]]
"""Opens the tenant in which stories are played before they are imported (`time_lapse`); it begins empty."""


def store_stories(
    memory: Memory,
    open_draft: OpenDraft,
    stories: Iterable[Story] = STORIES,
    *,
    report: Report = lambda step: None,
) -> dict[HourKey, HourCounts]:
    """Store the stories, in the past year of this moment; returns the counts of its calls in their hours.

    `report` gets a line for every step. The draft can be deleted afterwards.
    """
    now = datetime.now(UTC)
    wanted = list(stories)
    lapses = {story.owner: TimeLapse() for story in wanted}
    with open_draft() as draft:
        for story in wanted:
            report(f"{story.owner}: {len(story.conversations)} conversations, {len(story.notes)} notes")
            play(draft.scope(owner=story.owner), story, now, lapses[story.owner])
            lapses[story.owner].mark(now)
    # Opened again, because counts of recalls are written in the background, at the latest when it closes.
    with TemporaryDirectory(prefix="mnemic-story-") as folder, open_draft() as draft:
        for story in wanted:
            report(f"{story.owner}: recorded over the year")
            _import(memory, draft, story.owner, lapses[story.owner], Path(folder))
    for story in wanted:
        owner = memory.scope(owner=story.owner)
        _work(owner, story, now)
        owner.memories.make_map()
    _share(memory, [story.owner for story in wanted])
    report("counts and maps")
    memory.metrics.snapshots(refresh=True)
    for job in memory.jobs.list(type=MAP_JOB, limit=len(wanted)):
        memory.jobs.wait(job.job_id, timeout_s=JOB_TIMEOUT_S)
    return _calls(lapses.values())


def _import(memory: Memory, draft: Memory, owner: str, lapse: TimeLapse, folder: Path) -> None:
    """Import what was played, with its times of recording moved to the year of the story."""
    played, told = folder / "played.jsonl", folder / "told.jsonl"
    draft.admin.export(played, owner=owner, replace=True)
    lapse.rewrite(played, told)
    memory.admin.import_(told)


def _calls(lapses: Iterable[TimeLapse]) -> dict[HourKey, HourCounts]:
    """The calls of all stories."""
    counts: dict[HourKey, HourCounts] = {}
    for lapse in lapses:
        for key, counted in lapse.calls.items():
            counts.setdefault(key, HourCounts()).add(counted)
    return counts


def _work(owner: Memory, story: Story, now: datetime) -> None:
    """Run the jobs: those with an error die of it. One more waits for tomorrow."""
    if not story.jobs:
        return
    errors = {(job.type, str(job.payload)): job.error for job in story.jobs}

    def run(job: RunningJob) -> dict[str, int] | None:
        error = errors.get((job.type, str(job.payload)))
        if error is not None:
            raise ConnectionError(error)
        return {"sent": 12}

    for type in {job.type for job in story.jobs}:
        owner.jobs.handler(type)(run)
    enqueued = [owner.jobs.enqueue(job.type, job.payload, max_attempts=1) for job in story.jobs]
    for job in enqueued:
        owner.jobs.wait(job.job_id, timeout_s=JOB_TIMEOUT_S)
    tomorrow = (now + timedelta(days=1)).isoformat()
    owner.jobs.enqueue(story.jobs[0].type, {"week": "next"}, run_at=tomorrow)
    owner.jobs.cancel(owner.jobs.enqueue(story.jobs[0].type, {"week": "last"}, run_at=tomorrow).job_id)
    owner.schedules.set("weekly digest", story.jobs[0].type, cron="0 7 * * mon", owner=story.owner)


def _share(memory: Memory, owners: list[str]) -> None:
    """One owner lets the next one read; keys as a team would have them."""
    giver, *readers = owners
    for reader in readers[:1]:
        offered = memory.shares.grant(reader, owner=giver, tags=["studio"], reason="they order tableware")
        memory.shares.accept(offered.grant_id, owner=reader)
    memory.keys.create(role="write", name="assistant on the phone", owner=giver)
    memory.keys.create(role="read", name="wall display")
    old = memory.keys.create(role="write", name="old laptop")
    memory.keys.revoke(old.key_id)
