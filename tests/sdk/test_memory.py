"""`Memory` on the embedded server: in event loops, in threads, after a fork, after close, and in views."""

import asyncio
import inspect
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import run

import pytest

from mnemic import AsyncMemory, Memory
from mnemic.errors import ClosedError, OwnerRequiredError
from tests.process_output import complaints

PUBLIC = [name for name in vars(AsyncMemory) if not name.startswith("_") and name not in ("aclose", "open")]


def test_memory_has_every_call_of_async_memory() -> None:
    assert [name for name in PUBLIC if not hasattr(Memory, name)] == []


@pytest.mark.parametrize("name", ["retain", "retain_many", "scope"])
def test_signatures_and_docstrings_are_the_same(name: str) -> None:
    ours, theirs = getattr(Memory, name), getattr(AsyncMemory, name)
    assert inspect.signature(ours).parameters.keys() == inspect.signature(theirs).parameters.keys()
    assert ours.__doc__ == theirs.__doc__


def test_memory_works_inside_a_running_event_loop(memory: Memory) -> None:
    async def inside() -> int:
        return memory.retain("Said inside a running loop.").stored_count

    assert asyncio.run(inside()) == 1


def test_memory_works_from_many_threads(memory: Memory) -> None:
    with ThreadPoolExecutor(8) as threads:
        stored = list(threads.map(lambda number: memory.retain(f"Thread {number}").stored_count, range(32)))
    assert stored == [1] * 32
    assert memory.admin.stats().active_memory_count == 32


def test_a_fork_gets_a_clear_error(memory: Memory) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, _error_of(lambda: memory.retain("from the child")).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert "fork" in os.read(reader, 1000).decode()
    os.close(reader)
    os.close(writer)
    assert memory.retain("The parent goes on.").stored_count == 1


def _error_of(act: Callable[[], object]) -> str:
    try:
        act()
    except ClosedError as error:
        return str(error)
    return "no error"


def test_a_closed_memory_is_an_error_and_closing_twice_does_nothing(folder: Path) -> None:
    memory = Memory(data_dir=folder, owner="alice", embedder="test")
    memory.close()
    memory.close()
    with pytest.raises(ClosedError, match="closed: open a new one"):
        memory.retain("too late")


async def test_async_memory_must_be_opened_and_can_be_opened_twice(folder: Path) -> None:
    memory = AsyncMemory(data_dir=folder, owner="alice", embedder="test")
    with pytest.raises(ClosedError, match="not open yet"):
        await memory.retain("too early")
    async with memory:
        assert await memory.open() is memory
        assert memory.tenant.name == "default"
    with pytest.raises(ClosedError, match="closed"):
        await memory.open()


def test_a_view_has_its_own_defaults_and_shares_the_memory(memory: Memory) -> None:
    view = memory.scope(owner="bob", channel="project-x")
    (bobs,) = view.retain("Bob's own.").memory_ids
    record = view.memories.get(bobs)
    assert (record.owner, record.channel, record.process) == ("bob", "project-x", "sdk")
    view.close()
    assert memory.memories.list() == []
    assert memory.scope(owner="bob").memories.get(bobs).content == "Bob's own."


def test_a_call_without_an_owner_is_an_error(folder: Path) -> None:
    with (
        Memory(data_dir=folder, embedder="test") as memory,
        pytest.raises(OwnerRequiredError, match="owner="),
    ):
        memory.retain("Whose is this?")


def test_a_memory_that_is_never_closed_does_not_block_exit(folder: Path) -> None:
    program = (
        f"from mnemic import Memory; memory = Memory(data_dir={str(folder)!r}, owner='a', embedder='test');"
        "print(memory.retain('Left open.').stored_count)"
    )
    done = run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, complaints(done.stderr)) == (0, "")
