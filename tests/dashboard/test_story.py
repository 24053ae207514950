"""The story of `mnemic demo --ui`: recorded over its year, not on the day on which it is stored."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic import Memory
from mnemic.cli.story.mara import MARA
from mnemic.cli.story.storing import store_stories
from mnemic.cli.story.time_lapse import TimeLapse
from mnemic.runtime.hourly_metrics import HourCounts, HourKey
from tests.dashboard.place import draft_of

DAY = timedelta(days=1)
Told = tuple[Memory, dict[HourKey, HourCounts]]


@pytest.fixture(scope="module")
def told(dashboard_folder: Path) -> Iterator[Told]:
    """Mara's whole year."""
    tenant = f"story {uuid4()}"
    with Memory(data_dir=dashboard_folder, tenant=tenant, embedder="test") as memory:
        calls = store_stories(memory, draft_of(dashboard_folder, tenant), [MARA])
        yield memory.scope(owner=MARA.owner), calls


def test_memories_were_recorded_when_they_were_said(told: Told) -> None:
    memory, _ = told
    said = memory.memories.list(statuses=None, include_forgotten=True, order="oldest", limit=500)
    turns = [each for each in said if each.conversation is not None]
    assert len(turns) == sum(len(conversation.turns) for conversation in MARA.conversations)
    for each in turns:
        assert each.at is not None
        assert abs(each.created_at - each.at) < DAY
    assert [each.created_at for each in said] == sorted(each.created_at for each in said)
    assert datetime.now(UTC) - said[0].created_at > 364 * DAY


def test_the_memory_knew_what_had_been_said_by_then(told: Told) -> None:
    memory, _ = told
    now = datetime.now(UTC)

    def homes(days_ago: int) -> set[str]:
        listed = memory.memories.list(q="Mara lives", as_of=now - days_ago * DAY, limit=50)
        return {each.content for each in listed if each.source == "extracted"}

    assert homes(300) == {"Mara lives in Gothenburg."}
    assert homes(0) == {"Mara lives in Lindenau."}
    assert homes(366) == set()


def test_corrections_and_facts_have_days_of_their_own(told: Told) -> None:
    memory, _ = told
    content, corrected, _ = MARA.corrections[0]
    (found,) = memory.memories.list(q=corrected)
    first, second = memory.memories.history(found.memory_id)
    assert (first.content, second.content) == (content, corrected)
    assert second.recorded_at - first.recorded_at > 30 * DAY
    name, attribute, value = MARA.changed_facts[0]
    (entity,) = memory.entities.find(name)
    facts = [each for each in memory.entities.history(entity.entity_id) if each.attribute == attribute]
    assert facts[0].value == value
    assert facts[0].recorded_at - facts[-1].recorded_at > 30 * DAY


def test_calls_are_counted_in_the_hours_of_the_story(told: Told) -> None:
    _, calls = told
    retained = {hour: counts for (hour, operation), counts in calls.items() if operation == "retain"}
    stored = sum(counts.memory_count for counts in retained.values())
    texts = sum(len(each.turns) for each in MARA.conversations) + len(MARA.notes) + len(MARA.anchored)
    # A note that says what was learnt before is not stored again.
    assert texts - 3 <= stored <= texts
    assert len({hour.date() for hour in retained}) > 20
    asked = [counts for (_, operation), counts in calls.items() if operation == "recall"]
    assert sum(counts.call_count for counts in asked) == len(MARA.questions)
    assert sum(sum(counts.confidences) for counts in asked) == len(MARA.questions)


def test_times_keep_their_order() -> None:
    lapse = TimeLapse()
    before = datetime.now(UTC)
    lapse.mark(before - 10 * DAY)
    first = datetime.now(UTC)
    lapse.mark(before - 20 * DAY)  # An earlier day than the one before: it would change the order.
    second = datetime.now(UTC)
    lapse.mark(before)
    third = datetime.now(UTC)
    moved = [lapse.moved(at) for at in (first, second, third)]
    assert moved == sorted(moved)
    assert lapse.moved(before - 300 * DAY) == before - 300 * DAY, "what happened in the story stays"
    assert moved[0] - (before - 10 * DAY) < DAY
