"""Runs async code for synchronous callers: one private event loop in one thread.

A `Portal` is *open* from its construction until `Portal.close`, then *closed* for good. The thread of the
loop is a daemon, and a finalizer stops it when the portal is garbage collected or the interpreter exits. So a
portal that is never closed neither blocks the exit of the program nor leaves pending tasks behind.

To make a call, the thread of the caller submits a coroutine to the loop, waits, and gets its result or
exception. Any thread may call, also one with a running event loop (Jupyter), except the thread of the portal,
which would wait for itself. A fork inherits the object but not the thread, so it refuses all calls.

`Facade` is the base of the generated classes in `mnemic.sdk._sync`.
"""

import asyncio
import logging
import os
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar

from mnemic.errors import ClosedError, MnemicError
from mnemic.sdk.daemon_threads import DaemonThreads

STOP_TIMEOUT_S = 10.0
"""How long closing waits for cancelled coroutines to end."""

CANCEL_TIMEOUT_S = 5.0
"""How long an interrupted call waits for the cleanup of its coroutine."""

T = TypeVar("T")
Wrapped = TypeVar("Wrapped")

logger = logging.getLogger(__name__)


class Portal:
    """Runs coroutines for synchronous callers in one event loop."""

    def __init__(self) -> None:
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=_run_loop, args=(ready,), name="mnemic-portal", daemon=True)
        self._thread.start()
        self._loop, stop = ready.result()
        self._pid = os.getpid()
        self._closed = False
        # Orders submissions before the stop, so that every submitted coroutine is run or cancelled.
        self._lock = threading.RLock()
        self._stop = weakref.finalize(self, _stop_loop, self._loop, stop, self._thread, self._pid)

    @property
    def closed(self) -> bool:
        """True after `close`, and in every fork of the process that opened the portal."""
        return self._closed or self._loop.is_closed() or os.getpid() != self._pid

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop of the portal; returns its result or raises its exception.

        An interrupt (Ctrl-C) cancels the coroutine and waits up to `CANCEL_TIMEOUT_S` for its cleanup. Raises
        `ClosedError` if the portal is closed, also during the call, or was opened before a fork. In these
        cases a coroutine that has not started never starts.
        """
        call = _Call(self._loop, coroutine)
        try:
            self._submit(call)
            return call.future.result()
        except CancelledError:
            if self._closed:
                raise ClosedError("This Memory was closed while the call was running.") from None
            raise
        except BaseException:
            call.abandon()
            raise
        finally:
            # Break the reference cycle: the traceback holds this frame, the call holds the exception.
            del call

    def iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        """Iterate synchronously; each step is a `run`. Leaving the loop early closes `source`."""
        try:
            while (step := self.run(_next_step(source))) is not None:
                yield step[0]
        finally:
            # A portal that closed first has closed the source as well. The garbage collector may end this
            # generator in the thread of the portal, where asyncio closes the source itself.
            if self._refusal() is None:
                with suppress(ClosedError):
                    self.run(_close_source(source))

    def close(self) -> None:
        """Cancel running coroutines, stop the loop and join its thread. Closing twice does nothing.

        In a fork it does nothing, because the thread belongs to the parent.
        """
        if self.closed:
            return
        if error := self._refusal():
            raise error
        with self._lock:
            self._closed = True
        self._stop()

    def _submit(self, call: "_Call[Any]") -> None:
        # Check the process before taking the lock: in a fork, a thread that no longer exists may hold it.
        if error := self._refusal():
            raise error
        with self._lock:
            if error := self._refusal():
                raise error
            call.submit()

    def _refusal(self) -> MnemicError | None:
        """The error for a call from this thread now, or None if it can run."""
        if os.getpid() != self._pid:
            return ClosedError(
                f"This Memory was opened in process {self._pid} and cannot be used in its fork "
                f"{os.getpid()}: open a new Memory in the child."
            )
        if self.closed:
            return ClosedError("This Memory is closed: open a new one.")
        if threading.get_ident() == self._thread.ident:
            return MnemicError(
                "A synchronous Memory was called from its own event-loop thread, which would deadlock. "
                "Use AsyncMemory in callbacks and iterables that are passed to Memory."
            )
        return None


class Facade(Generic[Wrapped]):
    """A synchronous object: the async object that does the work and the portal that runs it."""

    _async: Wrapped
    _portal: Portal
    # True only for the object that started the portal; views share the portal and must not close it.
    _owns_portal = False

    @classmethod
    def _view(cls, portal: Portal, wrapped: Wrapped) -> Self:
        view = cls.__new__(cls)
        view._portal, view._async = portal, wrapped
        return view

    def _open(self, opening: Callable[[], Coroutine[Any, Any, object]]) -> None:
        self._portal, self._owns_portal = Portal(), True
        try:
            self._portal.run(opening())
        except BaseException:
            self._portal.close()
            raise

    def _close(self, closing: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if self._portal.closed:
            return
        try:
            self._portal.run(closing())
        finally:
            if self._owns_portal:
                self._portal.close()


class _Call(Generic[T]):
    """One coroutine in the loop, and the future that the calling thread waits for.

    States: *new* → *submitted* → *running* as a task → *done*. It can be abandoned in any state, because an
    interrupt can arrive at any time.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> None:
        self.future: Future[T] = Future()
        self._loop = loop
        self._coroutine = coroutine
        self._submitted = False
        self._task: asyncio.Task[T] | None = None

    def submit(self) -> None:
        self._submitted = True
        self._loop.call_soon_threadsafe(self._start)

    def abandon(self) -> None:
        """Cancel the coroutine in whatever state it is, and wait for its cleanup."""
        if self.future.done():
            return
        if not self._submitted:
            self._coroutine.close()
            return
        self._loop.call_soon_threadsafe(self._cancel)
        with suppress(CancelledError, TimeoutError):
            self.future.exception(CANCEL_TIMEOUT_S)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._coroutine)
        self._task.add_done_callback(self._finish)

    def _cancel(self) -> None:
        if self._task is None:
            self._coroutine.close()
            self.future.cancel()
        else:
            self._task.cancel()

    def _finish(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.future.cancel()
        elif error := task.exception():
            self.future.set_exception(error)
        else:
            self.future.set_result(task.result())


async def _next_step(source: AsyncIterator[T]) -> tuple[T] | None:
    """The next item in a tuple, because an item may be None; None at the end."""
    try:
        return (await anext(source),)
    except StopAsyncIteration:
        return None


async def _close_source(source: AsyncIterator[object]) -> None:
    aclose = getattr(source, "aclose", None)
    if aclose is not None:
        await aclose()


def _run_loop(ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    """The body of the thread. The runner cancels remaining tasks, then closes the loop.

    The kind of loop is fixed, because psycopg needs a selector loop; the event loop policy of the application
    is ignored.
    """
    with (
        suppress(SystemExit, KeyboardInterrupt),
        asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner,
    ):
        loop = runner.get_loop()
        loop.set_default_executor(DaemonThreads())
        serving = loop.create_task(_serve_until_stopped(ready))
        while not serving.done():
            # A task that raises one of these stops the loop. Its caller gets it as the result of the call;
            # here, the loop goes on for the other callers.
            with suppress(SystemExit, KeyboardInterrupt):
                loop.run_until_complete(serving)


async def _serve_until_stopped(ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    stop = asyncio.Event()
    ready.set_result((asyncio.get_running_loop(), stop))
    await stop.wait()


def _stop_loop(
    loop: asyncio.AbstractEventLoop, stop: asyncio.Event, thread: threading.Thread, pid: int
) -> None:
    """The finalizer. It holds no reference to the portal, so that the portal can be garbage collected."""
    if os.getpid() != pid:
        return  # In a fork the copy of the loop shares file descriptors with the parent.
    with suppress(RuntimeError):  # The loop is closed.
        loop.call_soon_threadsafe(stop.set)
    if threading.current_thread() is thread:
        return  # The loop cannot wait for its own end.
    thread.join(STOP_TIMEOUT_S)
    if thread.is_alive():
        logger.warning("coroutine did not end within %s s after cancellation", STOP_TIMEOUT_S)
