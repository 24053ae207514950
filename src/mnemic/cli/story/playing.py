"""Plays the year of an owner by public calls, from its first day to its last, in some seconds.

What was said and noted has its day in the story; what has none there is spread over the year.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from mnemic import Memory
from mnemic.cli.story.parts import Conversation, Document, Entity, Note, Story
from mnemic.cli.story.time_lapse import TimeLapse

YEAR_DAYS = 365.0
CONSOLIDATED_EVERY_DAYS = 30
ASKED_DAYS = 28.0
"""Questions are spread over these last days."""
CORRECTED_DAYS, FORGOTTEN_DAYS, PROPOSED_DAYS, PAGED_DAYS = 20.0, 12.0, 1.0, 0.2
PAGED_MAX = 12
"""Conversations that an agent reads in a paged context."""

Step = tuple[float, Callable[[], object]]
"""How many days ago something happened, and the call that stores it."""


def play(owner: Memory, story: Story, now: datetime, lapse: TimeLapse) -> None:
    """Store a story in the order of its days."""
    steps = sorted(_steps(owner, story, now, lapse), key=lambda step: -step[0])
    for days_ago, act in steps:
        lapse.mark(now - timedelta(days=days_ago))
        act()


def _steps(owner: Memory, story: Story, now: datetime, lapse: TimeLapse) -> Iterator[Step]:
    """Steps of the same day keep this order."""
    for content in story.anchored:
        yield YEAR_DAYS, partial(_retain, owner, lapse, [{"content": content, "anchored": True}])
    yield from _spread(story.entities, 360, 90, partial(_meet, owner))
    for conversation in story.conversations:
        yield conversation.days_ago, partial(_converse, owner, lapse, conversation, now)
    for note in story.notes:
        yield note.days_ago, partial(_note, owner, lapse, note, now)
    yield from _spread(story.documents, 340, 100, partial(_read, owner))
    yield from _spread(story.relations, 89, 80, partial(_relate, owner, story))
    yield from _spread(story.changed_facts, 79, 40, partial(_change, owner, story))
    yield 60, partial(_plan, owner, story, now)
    for days_ago in range(CONSOLIDATED_EVERY_DAYS, int(YEAR_DAYS), CONSOLIDATED_EVERY_DAYS):
        yield days_ago, owner.consolidate
    yield CORRECTED_DAYS, partial(_correct, owner, story)
    yield FORGOTTEN_DAYS, partial(_forget, owner, story)
    yield PROPOSED_DAYS, owner.consolidate
    yield PROPOSED_DAYS, owner.curation.propose
    yield from _spread(story.questions, ASKED_DAYS, PROPOSED_DAYS, partial(_ask, owner, lapse))
    yield PAGED_DAYS, partial(_page, owner, story)


def _spread(
    things: tuple[Any, ...], first: float, last: float, act: Callable[[Any], object]
) -> Iterator[Step]:
    """Things that have no day: one after the other, from the first day to the last."""
    apart = (first - last) / max(len(things) - 1, 1)
    for position, thing in enumerate(things):
        yield first - position * apart, partial(act, thing)


def _retain(owner: Memory, lapse: TimeLapse, items: list[dict[str, Any]]) -> None:
    with lapse.counted("retain") as call:
        call.memory_count = owner.retain(items).stored_count


def _converse(owner: Memory, lapse: TimeLapse, conversation: Conversation, now: datetime) -> None:
    """Store a conversation with the tools that were called in it, and how it ended."""
    _retain(owner, lapse, list(_turns(conversation, now)))
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
        owner.conversations.set_outcome(conversation.name, "success" if conversation.succeeded else "failure")


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


def _note(owner: Memory, lapse: TimeLapse, note: Note, now: datetime) -> None:
    item = {
        "content": note.content,
        "at": (now - timedelta(days=note.days_ago)).isoformat(),
        "category": note.category,
        "tags": list(note.tags),
        "confidence": note.confidence,
        "metadata": {"written by": "assistant"},
    }
    _retain(owner, lapse, [item])


def _read(owner: Memory, document: Document) -> None:
    owner.documents.ingest(document.name, document.text, title=document.title, wait=True)


def _meet(owner: Memory, entity: Entity) -> None:
    owner.entities.upsert(entity.category, entity.name, facts=entity.facts, aliases=entity.aliases)


def _relate(owner: Memory, story: Story, relation: tuple[str, str, str]) -> None:
    name, kind, other = relation
    categories = {entity.name: entity.category for entity in story.entities}
    owner.entities.relate((categories[name], name), (categories[other], other), kind)
    owner.triples.add(name, kind, other)


def _change(owner: Memory, story: Story, fact: tuple[str, str, str]) -> None:
    """Replace a fact of an entity."""
    name, attribute, value = fact
    category = next(entity.category for entity in story.entities if entity.name == name)
    owner.entities.upsert(category, name, facts={attribute: value})


def _plan(owner: Memory, story: Story, now: datetime) -> None:
    """Set the goals, and learn what worked for which task."""
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


def _correct(owner: Memory, story: Story) -> None:
    by_content = _by_content(owner)
    for content, corrected, reason in story.corrections:
        owner.memories.update(by_content[content], content=corrected, reason=reason)


def _forget(owner: Memory, story: Story) -> None:
    by_content = _by_content(owner)
    for content, reason in story.forgotten:
        owner.memories.forget(by_content[content], reason=reason)


def _by_content(owner: Memory) -> dict[str, UUID]:
    return {memory.content: memory.memory_id for memory in owner.memories.list(limit=1_000)}


def _ask(owner: Memory, lapse: TimeLapse, question: str) -> None:
    """Ask a question, and say that the first hit was of use."""
    with lapse.counted("recall") as call:
        found = owner.recall(question, limit=5)
        call.refused, call.weak = found.refused, found.outcome == "weak"
        call.confidence = found.confidence
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
