"""The portal: one event loop in one thread, for callers in other threads."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from mnemic.errors import ClosedError, MnemicError
from mnemic.sdk import portal as portal_module
from mnemic.sdk.portal import Portal

DEADLINE_S = 60


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.close()


async def echo(value: int) -> int:
    await asyncio.sleep(0)
    return value


async def count_to(end: int, log: list[str]) -> AsyncIterator[int]:
    try:
        for number in range(end):
            yield number
    finally:
        await asyncio.sleep(0)
        log.append("closed")


async def wait_for_ever(started: threading.Event, log: list[str]) -> None:
    try:
        started.set()
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        log.append("cleaned up")


def run_script(script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a new interpreter that shows every warning."""
    command = [sys.executable, "-W", "always", *options, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)


def test_a_coroutine_runs_in_another_thread_and_returns_here(portal: Portal) -> None:
    async def where() -> int:
        return threading.get_ident()

    assert portal.run(echo(3)) == 3
    assert portal.run(where()) != threading.get_ident()


def test_an_error_is_raised_unchanged(portal: Portal) -> None:
    error = LookupError("not here")

    async def fail() -> None:
        raise error

    with pytest.raises(LookupError) as caught:
        portal.run(fail())
    assert caught.value is error


def test_an_error_leaves_no_reference_cycle(portal: Portal) -> None:
    class Precious(Exception):
        pass

    async def fail() -> None:
        raise Precious

    def call() -> weakref.ref[Precious]:
        try:
            portal.run(fail())
        except Precious as error:
            return weakref.ref(error)
        raise AssertionError("nothing was raised")

    gc.collect()
    gc.disable()
    try:
        reference = call()
        # The loop lets go of the task at the latest when it has run something else.
        portal.run(echo(0))
        assert reference() is None
    finally:
        gc.enable()


async def test_it_works_inside_a_running_event_loop(portal: Portal) -> None:
    assert portal.run(echo(4)) == 4
    assert list(portal.iterate(count_to(3, []))) == [0, 1, 2]


def test_many_threads_share_one_portal(portal: Portal) -> None:
    threads = 16
    together = threading.Barrier(threads)

    def call(number: int) -> list[int]:
        together.wait(DEADLINE_S)
        return [portal.run(echo(number)) for _ in range(50)]

    with ThreadPoolExecutor(threads) as pool:
        results = list(pool.map(call, range(threads)))
    assert results == [[number] * 50 for number in range(threads)]


def test_calls_of_different_threads_run_concurrently(portal: Portal) -> None:
    async def meet(mine: asyncio.Event, other: asyncio.Event) -> None:
        mine.set()
        await other.wait()

    one, two = asyncio.Event(), asyncio.Event()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(lambda: portal.run(meet(one, two)))
        portal.run(meet(two, one))
        first.result(DEADLINE_S)


def test_the_thread_of_the_portal_must_not_call_it(portal: Portal) -> None:
    async def call_back() -> int:
        return portal.run(echo(5))

    with pytest.raises(MnemicError, match="from its own event-loop thread") as caught:
        portal.run(call_back())
    assert not isinstance(caught.value, ClosedError)


def test_the_thread_of_the_portal_must_not_close_it(portal: Portal) -> None:
    async def close() -> None:
        portal.close()

    with pytest.raises(MnemicError, match="from its own event-loop thread"):
        portal.run(close())
    assert portal.run(echo(6)) == 6


def test_an_interrupt_cancels_the_coroutine_and_waits_for_its_cleanup(portal: Portal) -> None:
    log: list[str] = []
    main_thread = threading.main_thread().ident
    assert main_thread is not None

    async def be_interrupted() -> None:
        signal.pthread_kill(main_thread, signal.SIGINT)
        await wait_for_ever(threading.Event(), log)

    with pytest.raises(KeyboardInterrupt):
        portal.run(be_interrupted())
    assert log == ["cleaned up"]
    assert portal.run(echo(7)) == 7


def test_an_interrupted_iteration_closes_its_source(portal: Portal) -> None:
    log: list[str] = []
    main_thread = threading.main_thread().ident
    assert main_thread is not None

    async def numbers() -> AsyncIterator[int]:
        yield 1
        try:
            signal.pthread_kill(main_thread, signal.SIGINT)
            await wait_for_ever(threading.Event(), log)
        finally:
            log.append("closed")

    with pytest.raises(KeyboardInterrupt):
        list(portal.iterate(numbers()))
    assert log == ["cleaned up", "closed"]


def test_iteration_yields_every_item_even_none(portal: Portal) -> None:
    async def nothings() -> AsyncIterator[None]:
        yield None
        yield None

    assert list(portal.iterate(nothings())) == [None, None]


def test_leaving_an_iteration_early_closes_its_source(portal: Portal) -> None:
    log: list[str] = []
    for number in portal.iterate(count_to(10, log)):
        if number == 2:
            break
    assert log == ["closed"]


def test_an_error_of_the_source_ends_the_iteration(portal: Portal) -> None:
    async def numbers() -> AsyncIterator[int]:
        yield 1
        raise LookupError("no more")

    iterator = portal.iterate(numbers())
    assert next(iterator) == 1
    with pytest.raises(LookupError, match="no more"):
        next(iterator)
    assert list(iterator) == []


def test_a_source_without_aclose_can_be_iterated(portal: Portal) -> None:
    class Twice:
        left = 2

        def __aiter__(self) -> AsyncIterator[int]:
            return self

        async def __anext__(self) -> int:
            self.left -= 1
            if self.left < 0:
                raise StopAsyncIteration
            return self.left

    assert list(portal.iterate(Twice())) == [1, 0]


def test_an_iteration_is_closed_with_the_portal(portal: Portal) -> None:
    log: list[str] = []
    iterator = portal.iterate(count_to(10, log))
    assert next(iterator) == 0
    portal.close()
    assert log == ["closed"]
    with pytest.raises(ClosedError, match="open a new one"):
        next(iterator)


def test_an_iteration_that_ends_in_the_portals_thread_leaves_its_source_to_asyncio(portal: Portal) -> None:
    log: list[str] = []
    iterator = portal.iterate(count_to(10, log))
    assert next(iterator) == 0

    async def end() -> None:
        # As a garbage collection would, which strikes in whichever thread it likes.
        iterator.close()  # type: ignore[attr-defined]

    portal.run(end())
    portal.close()
    assert log == ["closed"]


def test_closing_joins_the_thread_and_may_be_repeated(portal: Portal) -> None:
    portal.close()
    assert portal.closed
    assert not portal._thread.is_alive()
    portal.close()


def test_after_close_every_call_is_refused(portal: Portal) -> None:
    portal.close()
    # That the coroutine was never awaited must not be reported: warnings are errors here.
    with pytest.raises(ClosedError, match="This Memory is closed: open a new one"):
        portal.run(echo(8))
    with pytest.raises(ClosedError, match="open a new one"):
        list(portal.iterate(count_to(3, [])))
    gc.collect()


def test_closing_cancels_a_running_call_with_an_error(portal: Portal) -> None:
    started, log = threading.Event(), list[str]()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(lambda: portal.run(wait_for_ever(started, log)))
        assert started.wait(DEADLINE_S)
        portal.close()
        with pytest.raises(ClosedError, match="closed while the call was running"):
            waiting.result(DEADLINE_S)
    assert log == ["cleaned up"]


def test_a_coroutine_that_ignores_cancellation_does_not_block_closing_for_ever(
    portal: Portal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(portal_module, "STOP_TIMEOUT_S", 0.01)
    started, release = threading.Event(), asyncio.Event()

    async def be_stubborn() -> None:
        started.set()
        try:
            await release.wait()
        except asyncio.CancelledError:
            await release.wait()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: portal.run(be_stubborn()))
        assert started.wait(DEADLINE_S)
        portal.close()
        assert "did not end within 0.01 s" in caplog.text
        portal._loop.call_soon_threadsafe(release.set)
    portal._thread.join(DEADLINE_S)


def test_closing_while_many_threads_call_ends_every_call(portal: Portal) -> None:
    running = threading.Barrier(9)

    def call_until_closed() -> str:
        running.wait(DEADLINE_S)
        while True:
            try:
                portal.run(echo(1))
            except ClosedError as error:
                return str(error)

    with ThreadPoolExecutor(8) as pool:
        callers = [pool.submit(call_until_closed) for _ in range(8)]
        running.wait(DEADLINE_S)
        portal.close()
        assert all("closed" in caller.result(DEADLINE_S) for caller in callers)


def test_a_coroutine_that_exits_the_program_raises_here_and_the_portal_goes_on(
    portal: Portal, subtests: pytest.Subtests
) -> None:
    class Alarm(BaseException):
        pass

    async def leave(error: BaseException) -> None:
        raise error

    async def leave_in_a_task(error: BaseException) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(leave(error))
            group.create_task(asyncio.Event().wait())

    async def leave_in_a_thread(error: BaseException) -> None:
        await asyncio.to_thread(leave(error).send, None)

    started, log = threading.Event(), list[str]()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(portal.run, wait_for_ever(started, log))
        assert started.wait(DEADLINE_S)
        for error in (SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Alarm()):
            for way in (leave, leave_in_a_task, leave_in_a_thread):
                with subtests.test(f"{type(error).__name__} {way.__name__}"):
                    with pytest.raises(BaseException) as caught:  # noqa: PT011 — a group, or the error itself
                        portal.run(way(error))
                    assert caught.value is error or error in getattr(caught.value, "exceptions", ())
                    assert portal.run(echo(9)) == 9
        assert not other.done()
        portal.close()
        with pytest.raises(ClosedError):
            other.result(DEADLINE_S)


BLOCKED_THREADS = """
import asyncio, threading
from mnemic.sdk.portal import Portal

async def block():
    await asyncio.wait_for(asyncio.to_thread(threading.Event().wait), 0.01)

portal = Portal()
for _ in range(40):
    try:
        portal.run(block())
    except TimeoutError:
        pass
print(portal.run(asyncio.to_thread(lambda: "answered")))
"""


def test_threads_that_a_callback_blocks_neither_stop_others_nor_keep_the_program_from_ending() -> None:
    ended = run_script(BLOCKED_THREADS)
    assert (ended.returncode, ended.stdout) == (0, "answered\n")
    assert "Traceback" not in ended.stderr


def test_a_garbage_collected_portal_is_stopped() -> None:
    portal = Portal()
    assert portal.run(echo(10)) == 10
    thread = portal._thread
    del portal
    gc.collect()
    assert not thread.is_alive()


FORK = """
import asyncio, os, sys
from mnemic.errors import ClosedError
from mnemic.sdk.portal import Portal

async def echo(value):
    return value

portal = Portal()
portal.run(echo(0))
child = os.fork()
if child == 0:
    try:
        portal.run(echo(1))
    except ClosedError as error:
        print(error)
    portal.close()
    fresh = Portal()
    print("child", fresh.closed, fresh.run(echo(2)))
    fresh.close()
    sys.exit(0)
_, status = os.waitpid(child, 0)
print("parent", status, portal.run(echo(3)))
portal.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
def test_a_fork_refuses_calls() -> None:
    done = run_script(FORK, "-W", "ignore:.*use of fork:DeprecationWarning")
    lines = done.stdout.splitlines()
    assert "cannot be used in its fork" in lines[0]
    assert lines[0].endswith("open a new Memory in the child.")
    assert lines[1:] == ["child False 2", "parent 0 3"]
    assert done.returncode == 0


EXIT = """
import asyncio
from mnemic.sdk.portal import Portal

async def start_something():
    global task
    task = asyncio.create_task(asyncio.Event().wait())

async def numbers():
    while True:
        yield 1

portal = Portal()
portal.run(start_something())
iterator = portal.iterate(numbers())
next(iterator)
print("leaving")
"""


def test_exit_without_close_is_silent_and_fast() -> None:
    done = run_script(EXIT, "-X", "dev")
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")
