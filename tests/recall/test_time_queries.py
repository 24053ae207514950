"""Times in queries: windows, lists of a time, time zones."""

import pytest

from mnemic.sdk.memory import AsyncMemory
from tests.recall.test_recall import contents, explained


async def test_words_of_time_count_from_when_the_question_is_asked(memory: AsyncMemory) -> None:
    for day in ("2026-03-01", "2026-03-09", "2026-03-12"):
        await memory.retain(f"swimming on {day[-2:]}", at=f"{day}T10:00:00Z")
    for asked, best in (("2026-03-10", "swimming on 09"), ("2026-03-13", "swimming on 12")):
        found = await memory.recall("swimming yesterday", at=f"{asked}T12:00:00Z", explain=True)
        assert contents(found)[0] == best
        assert "time" in explained(found[0]).found_by
        # What was told soon after that day may be about it and counts a little.
        assert explained(found[0]).scores["time"] > 2 * explained(found[1]).scores.get("time", 0.0)


@pytest.mark.parametrize(
    ("query", "is_answered"),
    [
        ("What happened last week?", True),
        ("Can you give me a summary of what we discussed last week?", True),
        ("Where did I go last week?", True),
        ("Which opera did I see last week?", False),
        ("What happened two weeks ago?", False),
    ],
)
async def test_a_question_of_nothing_but_a_time_is_answered_by_what_happened_then(
    memory: AsyncMemory, query: str, is_answered: bool
) -> None:
    await memory.retain("Bob showed me the Pergamon museum.", at="2026-04-01T10:00:00Z")
    found = await memory.recall(query, at="2026-04-08T10:00:00Z", strict=True)
    assert found.refused is not is_answered


async def test_a_question_of_nothing_but_a_time_lists_that_time_newest_first(memory: AsyncMemory) -> None:
    for day in range(1, 29):
        await memory.retain(f"walked {day} miles", at=f"2026-05-{day:02}T10:00:00Z")
    listed = [f"walked {day} miles" for day in (9, 8, 7, 6, 5, 4, 3)]
    for query in ("notes between May 3 and May 9", "¿Qué hice entre el 3 y el 9 de mayo?"):
        found = await memory.recall(query, at="2026-11-17T09:00:00Z", limit=10, explain=True)
        assert contents(found)[:7] == listed
        assert explained(found[0]).scores["newest first"] > explained(found[1]).scores["newest first"] > 0


async def test_words_of_a_time_do_not_count_as_words(memory: AsyncMemory) -> None:
    await memory.retain("Bus stop 9 is closed until May.", at="2026-10-01T10:00:00Z")
    await memory.retain("A lamp from the flea market.", at="2026-05-06T10:00:00Z")
    found = await memory.recall(
        "What did I buy between May 3 and May 9?", at="2026-11-17T09:00:00Z", refuse_below=0, explain=True
    )
    assert contents(found)[0] == "A lamp from the flea market."
    assert "9" not in explained(found[1]).words
    due = "The thesis is due on 14 March 2027."
    await memory.retain(due, at="2026-10-02T10:00:00Z")
    found = await memory.recall("What is due on 14 March 2027?", at="2026-11-17T09:00:00Z", explain=True)
    assert contents(found)[0] == due
    assert "2027" in explained(found[0]).words


async def test_this_morning_is_that_of_the_time_zone_of_the_asker(memory: AsyncMemory) -> None:
    await memory.retain("lost the keys", at="2026-11-16T22:30:00Z")
    await memory.retain("found the hat", at="2026-11-17T08:00:00Z")
    for asked, best in (
        ("2026-11-17T09:00:00+09:00", "lost the keys"),
        ("2026-11-17T09:00:00Z", "found the hat"),
    ):
        found = await memory.recall("What happened this morning?", at=asked)
        assert contents(found)[0] == best


async def test_a_narrow_window_is_stronger_evidence_than_a_wide_one(memory: AsyncMemory) -> None:
    for month in range(1, 11):
        await memory.retain(f"swimming in lake {month}", at=f"2026-{month:02}-05T10:00:00Z")
    parts = {}
    for when in ("on 5 March", "since February", "before November"):
        found = await memory.recall(f"swimming in lake 3 {when}", at="2026-11-17T09:00:00Z", explain=True)
        best = next(hit for hit in found if hit.memory.content == "swimming in lake 3")
        parts[when] = explained(best).scores.get("time", 0.0)
    assert parts["on 5 March"] > parts["since February"] > parts["before November"] >= 0
