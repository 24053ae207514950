"""Stores the story: conversations, notes, documents, entities, goals, jobs, and what Mnemic makes of them.

Everything goes through the public calls. Storing all four owners takes about half a minute.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from mnemic import Memory
from mnemic.cli.story.helpdesk import HELPDESK
from mnemic.cli.story.mara import MARA
from mnemic.cli.story.parts import Conversation, Story
from mnemic.cli.story.river import RIVER
from mnemic.cli.story.workshop import WORKSHOP
from mnemic.jobs.handlers import RunningJob
from mnemic.memory_map.reading import MAP_JOB

STORIES = (MARA, WORKSHOP, HELPDESK, RIVER)
# Conversations that are stored by one call.
BATCH_SIZE = 25
JOB_TIMEOUT_S = 30.0
PAGED_MAX = 12
"""Conversations that an agent reads in a paged context."""

Report = Callable[[str], None]


def store_stories(
    memory: Memory, stories: Iterable[Story] = STORIES, *, report: Report = lambda step: None
) -> None:
    """Store the stories, in the past year of this moment. `report` gets a line for every step."""
    now = datetime.now(UTC)
    wanted = list(stories)
    for story in wanted:
        owner = memory.scope(owner=story.owner)
        report(f"{story.owner}: {len(story.conversations)} conversations, {len(story.notes)} notes")
        _converse(owner, story, now)
        _note(owner, story, now)
        _read(owner, story)
        report(f"{story.owner}: entities, goals and jobs")
        _know(owner, story)
        _plan(owner, story, now)
        _work(owner, story, now)
        report(f"{story.owner}: learns, asks and is corrected")
        _learn(owner, story)
        _ask(owner, story)
        _page(owner, story)
        owner.memories.make_map()
    _share(memory, [story.owner for story in wanted])
    report("counts and maps")
    memory.metrics.snapshots(refresh=True)
    for job in memory.jobs.list(type=MAP_JOB, limit=len(wanted)):
        memory.jobs.wait(job.job_id, timeout_s=JOB_TIMEOUT_S)


def _converse(owner: Memory, story: Story, now: datetime) -> None:
    """Store the conversations, oldest first, with the tools that were called in them."""
    for start in range(0, len(story.conversations), BATCH_SIZE):
        batch = story.conversations[start : start + BATCH_SIZE]
        owner.retain([turn for conversation in batch for turn in _turns(conversation, now)])
    for conversation in story.conversations:
        for position, tool in enumerate(conversation.tools):
            is_last = position == len(conversation.tools) - 1
            owner.conversations.record_tool(
                conversation.name,
                tool,
                arguments={"customer": conversation.turns[0].name},
                succeeded=conversation.succeeded is not False or not is_last,
                duration_ms=40.0 + 17 * position,
            )
        if conversation.succeeded is not None:
            owner.conversations.set_outcome(
                conversation.name, "success" if conversation.succeeded else "failure"
            )


def _turns(conversation: Conversation, now: datetime) -> Iterator[dict[str, Any]]:
    began = now - timedelta(days=conversation.days_ago)
    for turn in conversation.turns:
        yield {
            "role": turn.role,
            **({"name": turn.name} if turn.name is not None else {}),
            "content": turn.content,
            "conversation": conversation.name,
            "at": (began + timedelta(minutes=turn.minute)).isoformat(),
        }


def _note(owner: Memory, story: Story, now: datetime) -> None:
    owner.retain(
        {
            "content": note.content,
            "at": (now - timedelta(days=note.days_ago)).isoformat(),
            "category": note.category,
            "tags": list(note.tags),
            "confidence": note.confidence,
            "metadata": {"written by": "assistant"},
        }
        for note in story.notes
    )
    if story.anchored:
        owner.retain([{"content": content, "anchored": True} for content in story.anchored])


def _read(owner: Memory, story: Story) -> None:
    for document in story.documents:
        owner.documents.ingest(document.name, document.text, title=document.title, wait=True)


def _know(owner: Memory, story: Story) -> None:
    """Store entities, their relations, and the facts that replaced their first ones."""
    stored = {
        entity.name: owner.entities.upsert(
            entity.category, entity.name, facts=entity.facts, aliases=entity.aliases
        )
        for entity in story.entities
    }
    for name, attribute, value in story.changed_facts:
        owner.entities.upsert(stored[name].category, name, facts={attribute: value})
    for name, kind, other in story.relations:
        owner.entities.relate(stored[name], stored[other], kind)
        owner.triples.add(name, kind, other)


def _plan(owner: Memory, story: Story, now: datetime) -> None:
    goal_ids: list[UUID] = []
    for position, goal in enumerate(story.goals):
        deadline = now + timedelta(days=20 * (position + 1))
        parent = goal_ids[goal.part_of] if goal.part_of is not None else None
        made = owner.goals.create(
            goal.content, priority=goal.priority, deadline=deadline.isoformat(), parent=parent
        )
        goal_ids.append(made.goal_id)
    for strategy in story.strategies:
        owner.strategies.learn(
            strategy.task, strategy.content, tools=strategy.tools, succeeded=strategy.succeeded
        )


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


def _learn(owner: Memory, story: Story) -> None:
    """Let Mnemic learn from the turns and propose what to clean up, then correct what somebody corrects."""
    owner.consolidate()
    owner.curation.propose()
    by_content = {memory.content: memory.memory_id for memory in owner.memories.list(limit=1_000)}
    for content, corrected, reason in story.corrections:
        owner.memories.update(by_content[content], content=corrected, reason=reason)
    for content, reason in story.forgotten:
        owner.memories.forget(by_content[content], reason=reason)


def _ask(owner: Memory, story: Story) -> None:
    """Ask everything, each question once without and once with the hits' feedback."""
    for question in story.questions:
        found = owner.recall(question, limit=5)
        if found.outcome == "found":
            owner.memories.feedback(found.hits[0].memory.memory_id, useful=True, conversation="questions")


def _page(owner: Memory, story: Story) -> None:
    """Let an agent read everything that was said, one conversation after the other, in a paged context."""
    session = owner.context(f"read what {story.owner} said")
    texts = {
        conversation.name: "\n".join(f"{turn.name}: {turn.content}" for turn in conversation.turns)
        for conversation in story.conversations[:PAGED_MAX]
    }
    if not texts:
        return
    session.admit("\n\n".join(texts.values()), tool="export", key="all conversations", type="command")
    for name, text in texts.items():
        session.admit(text, tool="read", key=name, type="prose")
    session.pin(next(iter(texts)))
    session.query(story.conversations[0].turns[0].content, object="all conversations")


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
