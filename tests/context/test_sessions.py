"""`memory.context(session)`: admit, assemble, ask, restore, pin, and look at what was decided."""

import asyncio

import pytest

from mnemic.context import store
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory

CODE = "\n\n".join(
    f"def function_{number}(argument_{number}):\n    value = compute_{number}(argument_{number})\n"
    f"    return value + {number}"
    for number in range(200)
)
OUTPUT = "\n".join(f"line {number}: the build copied file_{number}.txt" for number in range(2_000))


async def test_an_object_is_admitted_and_assembled(memory: AsyncMemory) -> None:
    context = memory.context("s")
    first = await context.admit(CODE, tool="read", key="src/app.py", tags=["App"])
    assert (first.key, first.level, first.text) == ("src/app.py#1", 0, CODE)
    assert first.pressure.zone == "normal"
    assert set(first.parts) == {"type", "novelty", "utility", "recency"}
    second = await context.admit(OUTPUT, tool="bash", key="make build", type="command")
    assert second.level == 1
    assert len(second.text) < len(OUTPUT) / 2
    assembled = await context.assemble()
    assert [item.key for item in assembled.objects] == ["src/app.py#1", "make build#2"]
    assert assembled.text.startswith("[src/app.py#1: full text]\ndef function_0")
    assert assembled.tokens <= assembled.budget_tokens == 200_000
    objects = await context.objects()
    assert [(item.key, item.type, item.tags, item.level) for item in objects] == [
        ("src/app.py#1", "file", ("app",), 0),
        ("make build#2", "command", (), 1),
    ]
    assert any("function_1" in name for name in objects[0].names)
    assert objects[0].line
    assert objects[1].tokens[1] > 0
    assert await context.objects(after="src/app.py#1") == objects[1:]


async def test_assembly_keeps_the_budget_and_shows_the_rest_in_a_line(memory: AsyncMemory) -> None:
    context = memory.context("s")
    for number in range(6):
        await context.admit(f"{CODE}\n# copy {number}", tool="read", key=f"src/{number}.py")
    await context.pin("src/2.py")
    whole = await context.assemble(budget_tokens=1_000_000)
    one = whole.objects[0]
    assert (one.key, one.is_pinned, one.level) == ("src/2.py#3", True, 0)
    # After the pinned one, the newest first.
    assert [item.key for item in whole.objects[1:3]] == ["src/5.py#6", "src/4.py#5"]
    small = await context.assemble(budget_tokens=one.tokens + 300)
    assert small.tokens <= one.tokens + 300
    assert [(item.key, item.level) for item in small.objects][:2] == [("src/2.py#3", 0), ("src/5.py#6", 3)]
    tiny = await context.assemble(budget_tokens=1)
    assert (tiny.objects, tiny.text, len(tiny.left_out)) == ((), "", 6)


async def test_a_file_that_is_read_again_supersedes_its_older_copy(memory: AsyncMemory) -> None:
    context = memory.context("s")
    await context.admit(CODE, tool="read", key="src/app.py")
    await context.admit(f"{CODE}\n# changed", tool="read", key="src/app.py")
    old = await context.get("src/app.py#1")
    assert old.object.superseded_by == "src/app.py#2"
    assert ("src/app.py#2", "src/app.py#1", "supersedes") in old.related
    # A source means its newest object.
    assert (await context.get("src/app.py")).text.endswith("# changed")


async def test_a_question_is_answered_from_the_full_text(memory: AsyncMemory) -> None:
    context = memory.context("s")
    await context.admit(CODE, tool="read", key="src/app.py")
    await context.admit(OUTPUT, tool="bash", key="make build", type="command")
    answer = await context.query("where is file_1234.txt copied?", object="make build")
    assert "file_1234.txt" in answer.text
    assert (answer.key, answer.level, answer.is_found) == ("make build#2", 1, True)
    assert answer.tokens <= 400
    # Without a key, the object that knows the words of the question.
    assert (await context.query("what does function_77 return?")).key == "src/app.py#1"
    objects = await context.objects()
    assert [(item.level, item.fault_count, item.is_pinned) for item in objects] == [
        (0, 1, False),
        (1, 1, False),
    ]
    # Repeated faults pin an object.
    await context.query("file_7.txt?", object="make build")
    assert [item.is_pinned for item in await context.objects()] == [False, True]
    faults = await context.history(kinds=["fault"])
    assert [(fault.key, fault.fault) for fault in faults] == [
        ("make build#2", "micro"),
        ("src/app.py#1", "micro"),
        ("make build#2", "micro"),
    ]
    assert faults[0].question == "where is file_1234.txt copied?"
    assert (await context.summary()).fault_count == 3


async def test_a_restore_brings_back_what_an_object_depends_on(memory: AsyncMemory) -> None:
    context = memory.context("s")
    for name in ("a", "b", "c", "d"):
        await context.admit(f"{name}\n{OUTPUT}", tool="bash", key=name, type="command")
    for one, other in (("a", "b"), ("b", "c"), ("c", "d")):
        await context.relate(one, other)
    assert {item.level for item in (await context.assemble()).objects} == {1}
    restored = await context.restore("a")
    assert list(restored.texts) == ["a#1", "b#2", "c#3"]
    assert restored.texts["a#1"] == f"a\n{OUTPUT}"
    assert [(item.key, item.level) for item in (await context.assemble()).objects] == [
        ("c#3", 0),
        ("b#2", 0),
        ("a#1", 0),
        ("d#4", 1),
    ]
    assert (await context.restore("a")).is_pinned
    assert not (await context.unpin("a")).is_pinned


async def test_levels_say_what_they_lost_and_can_answer(memory: AsyncMemory) -> None:
    context = memory.context("s")
    await context.admit(CODE, tool="read", key="src/app.py")
    found = await context.get("src/app.py")
    assert found.text == CODE
    assert [level.level for level in found.levels] == [1, 2, 3]
    assert all(level.lost and level.can_answer and level.fault_when for level in found.levels)
    assert [level.tokens for level in found.levels] == sorted(
        (level.tokens for level in found.levels), reverse=True
    )


async def test_history_lists_the_decisions_in_order(memory: AsyncMemory) -> None:
    context = memory.context("s")
    for number in range(3):
        await context.admit(f"text {number}", tool="read", key=f"{number}.md")
    events = await context.history()
    assert [event.kind for event in events] == ["admission", "request"] * 3
    assert [event.call for event in events] == [0, 0, 1, 1, 2, 2]
    assert events[0].reason
    assert events[1].zone == "normal"
    assert await context.history(after=events[2].event_id, limit=2) == events[3:5]
    assert await context.history(kinds=["request"]) == events[1::2]


async def test_sessions_are_listed_in_numbers(memory: AsyncMemory) -> None:
    await memory.context("first").admit("a text", key="a", pinned=True)
    await memory.context("second").admit("another", key="b")
    listed = await memory.contexts.list()
    assert [session.session for session in listed] == ["second", "first"]
    assert (listed[1].object_count, listed[1].pinned_count, listed[1].call_count) == (1, 1, 1)
    assert await memory.contexts.list(before=listed[0].session_id) == listed[1:]
    assert await memory.context("first").summary() == listed[1]
    await memory.context("first").close()
    assert [session.session for session in await memory.contexts.list(is_open=True)] == ["second"]
    await memory.context("first").admit("reopened")
    assert (await memory.context("first").summary()).closed_at is None
    assert await memory.context("first").delete() is True
    assert await memory.context("first").delete() is False
    assert len(await memory.contexts.list()) == 1


async def test_two_processes_admit_to_one_session_and_lose_nothing(memory: AsyncMemory) -> None:
    context = memory.context("s")
    admitted = await asyncio.gather(*(context.admit(f"text {number}") for number in range(12)))
    assert len({each.key for each in admitted}) == 12
    assert len(await context.objects()) == 12
    assert (await context.summary()).call_count == 12
    await asyncio.gather(
        *(context.pin(each.key) for each in admitted[:6]), *(context.query("text?") for _ in range(6))
    )
    assert (await context.summary()).fault_count == 6
    pinned = {item.key for item in await context.objects() if item.is_pinned}
    assert pinned >= {each.key for each in admitted[:6]}


async def test_bad_input_names_what_is_wrong(memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    context = memory.context("s")
    with pytest.raises(InvalidInputError, match="session must have"):
        memory.context("")
    with pytest.raises(InvalidInputError, match="content must not be empty"):
        await context.admit(" ")
    with pytest.raises(InvalidInputError, match="type must be one of"):
        await context.admit("a", type="movie")  # type: ignore[arg-type]
    for call in (
        context.summary(),
        context.assemble(),
        context.pressure(),
        context.history(),
        context.close(),
    ):
        with pytest.raises(NotFoundError, match="no context session 's'"):
            await call
    await context.admit("a")
    with pytest.raises(NotFoundError, match="no object 'x'"):
        await context.restore("x")
    with pytest.raises(InvalidInputError, match="budget_tokens"):
        await context.assemble(budget_tokens=0)
    with pytest.raises(InvalidInputError, match="related to itself"):
        await context.relate("other#1", "other#1")
    monkeypatch.setattr("mnemic.context.admitting.SESSIONS_MAX", 1)
    with pytest.raises(ConflictError, match="delete some of them"):
        await memory.context("t").admit("a")
    monkeypatch.setattr(store, "OBJECTS_MAX", 1)
    with pytest.raises(ConflictError, match="2 objects; the limit is 1"):
        await context.admit("b")
