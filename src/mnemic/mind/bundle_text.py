"""The text of a recall with what was included: goals, working memory, profile and strategies, then the hits.

Each section has a heading and entries that begin with square brackets. As in `recall.packing`, what stands in
the brackets is written here, and everything that users and agents wrote stands behind them, indented from its
second line on: no text, key, task or name of a tool can look like a heading or like another entry.

Sections come in this order and have a share of the budget each. What they leave, at least a quarter of it, is
for the hits. They do not repeat goals, turns and strategies that a section shows; they do repeat lines of the
profile, whose order says nothing about the query.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, assert_never
from uuid import UUID

from mnemic.models.tokens import count_tokens
from mnemic.recall.packing import Packed, Packing, indented
from mnemic.types.goal import Goal
from mnemic.types.recalled import Recalled
from mnemic.types.strategy import Strategy
from mnemic.types.working import WorkingMemory

SectionName = Literal["goals", "working", "profile", "strategies"]
SHARES: Mapping[SectionName, float] = {"goals": 0.15, "working": 0.25, "profile": 0.2, "strategies": 0.15}
"""The largest share of `max_tokens` that each section takes."""
PROFILE_TOKENS_DEFAULT = 1_000
"""The budget of the profile if the call has none."""
HEADINGS: Mapping[SectionName | Literal["hits"], str] = {
    "goals": "Open goals:",
    "working": "Working memory:",
    "strategies": "Strategies:",
    "hits": "Memories:",
}


@dataclass(frozen=True)
class Entry:
    """A line of a section. Those with a low `rank` get room first; the order of entries stays."""

    text: str
    memory_id: UUID | None = None
    rank: int = 0


@dataclass(frozen=True)
class Section:
    """A packed section, and the memories that it shows: the hits do not repeat them."""

    packed: Packed
    shown: frozenset[UUID] = frozenset()


def share_of(name: SectionName, max_tokens: int) -> int:
    """The budget of a section."""
    return int(SHARES[name] * max_tokens)


def pack_bundle(found: Recalled, packing: Packing, max_tokens: int | None) -> Packed:
    """All sections, then the hits in the rest of the budget; notes say what was left out."""
    sections = [_section(name, found, max_tokens) for name in SHARES]
    blocks = [section.packed for section in sections]
    shown = frozenset[UUID]().union(*(section.shown for section in sections))
    used = sum(block.token_count for block in blocks)
    heading = HEADINGS["hits"]
    heading_cost = count_tokens(heading + "\n")
    room = max_tokens - used - heading_cost if max_tokens is not None else None
    hits = packing.pack_within([hit for hit in found.hits if hit.memory.memory_id not in shown], room)
    if hits.text:
        blocks.append(Packed(f"{heading}\n{hits.text}", heading_cost + hits.token_count, hits.notes))
    text = "\n".join(block.text for block in blocks if block.text)
    notes = (note for block in blocks for note in block.notes)
    return Packed(text, sum(block.token_count for block in blocks), tuple(notes))


def _section(name: SectionName, found: Recalled, max_tokens: int | None) -> Section:
    """One section, empty if it was not asked for or there is nothing to say."""
    budget = share_of(name, max_tokens) if max_tokens is not None else None
    match name:
        case "goals":
            return _pack(name, [_goal(goal) for goal in found.goals or ()], budget)
        case "working":
            working = found.working
            return _pack(name, list(_working(working)) if working is not None else [], budget)
        case "profile":
            # It was packed within its share when it was made.
            profile = found.profile
            return Section(Packed(profile.text, profile.token_count) if profile is not None else Packed())
        case "strategies":
            return _pack(name, [_strategy(each) for each in found.strategies or ()], budget)
        case _:
            assert_never(name)


def _pack(name: SectionName, entries: Sequence[Entry], max_tokens: int | None) -> Section:
    """The heading and the entries that fit, those with a low rank first, in their order."""
    used = count_tokens(HEADINGS[name] + "\n")
    kept: set[int] = set()
    for place in sorted(range(len(entries)), key=lambda place: entries[place].rank):
        cost = count_tokens(entries[place].text + "\n")
        if max_tokens is None or used + cost <= max_tokens:
            kept.add(place)
            used += cost
    left_out = len(entries) - len(kept)
    notes = (f"{left_out} of the {name} did not fit into max_tokens.",) if left_out else ()
    if not kept:
        return Section(Packed(notes=notes))
    packed = [entries[place] for place in sorted(kept)]
    lines = [HEADINGS[name], *(entry.text for entry in packed)]
    shown = frozenset(entry.memory_id for entry in packed if entry.memory_id is not None)
    return Section(Packed("\n".join(lines), used, notes), shown)


def _goal(goal: Goal) -> Entry:
    facts = [_due(goal.deadline), f"priority {goal.priority}", "blocked" if goal.status == "blocked" else ""]
    return Entry(f"[{', '.join(fact for fact in facts if fact)}] {indented(goal.content)}", goal.goal_id)


def _due(deadline: datetime | None) -> str:
    if deadline is None:
        return ""
    verb = "overdue since" if deadline <= datetime.now(UTC) else "due"
    return f"{verb} {deadline:%Y-%m-%d %H:%M} UTC"


def _working(working: WorkingMemory) -> Iterable[Entry]:
    """The active goal, values, thoughts and turns. The newest thoughts and turns get room first."""
    if working.goal is not None:
        yield Entry(f"[active goal] {indented(working.goal.content)}", working.goal.goal_id)
    for value in working.values:
        yield Entry(f"[value] {indented(f'{value.key}: {_written(value.value)}')}")
    for age, thought in _with_ages(working.thoughts):
        yield Entry(f"[thought] {indented(thought.content)}", rank=1 + age)
    for age, turn in _with_ages(working.turns):
        who = turn.name or turn.role
        said = indented(f"{who}: {turn.content}" if who else turn.content)
        yield Entry(f"[turn] {said}", turn.memory_id, rank=1 + age)


def _with_ages(oldest_first: Sequence[Any]) -> Iterable[tuple[int, Any]]:
    return ((len(oldest_first) - place, each) for place, each in enumerate(oldest_first))


def _written(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _strategy(strategy: Strategy) -> Entry:
    tools = f" (tools: {', '.join(strategy.tools)})" if strategy.tools else ""
    notes = f"\nIt failed: {strategy.failure_notes[0]}" if strategy.failure_notes else ""
    said = f"{strategy.task}: {strategy.content}{tools}{notes}"
    return Entry(f"[{_record(strategy)}] {indented(said)}", strategy.strategy_id)


def _record(strategy: Strategy) -> str:
    count = strategy.success_count + strategy.failure_count
    if strategy.is_warning:
        return f"warning: failed {strategy.failure_count} of {count} times"
    return f"worked {strategy.success_count} of {count} times" if count else "not tried yet"
