"""The way from synchronous code into the async core: one private event loop in one thread.

A `Portal` is *open* from its construction until `Portal.close`, then *closed* for good. The loop's
thread is a daemon, and a finalizer stops it when the portal is garbage or the interpreter exits, so
forgetting to close neither hangs the program nor leaves a task to complain about.

A call goes: the caller's thread hands a coroutine to the loop, waits, and gets the result or the
exception. It may be any thread, also one with a running event loop of its own (Jupyter), but not
the portal's: that one would wait for itself. A fork inherits the object and not the thread, so
there every call is refused.

`Facade` is what the generated classes of `mnemic.sdk._sync` stand on.
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

STOP_TIMEOUT_S = 10.0
"""How long closing waits for running coroutines to take their cancellation."""

CANCEL_TIMEOUT_S = 5.0
"""How long an interrupted call waits for its coroutine to clean up."""

T = TypeVar("T")
Wrapped = TypeVar("Wrapped")

logger = logging.getLogger(__name__)


class Portal:
    """Runs coroutines for synchronous callers, all in one event loop."""

    def __init__(self) -> None:
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=_run_loop, args=(ready,), name="mnemic-portal", daemon=True)
        self._thread.start()
        self._loop, stop = ready.result()
        self._pid = os.getpid()
        self._closed = False
        # Orders submissions before the stop: what is handed over is run or cancelled, never lost.
        self._lock = threading.RLock()
        self._stop = weakref.finalize(self, _stop_loop, self._loop, stop, self._thread, self._pid)

    @property
    def closed(self) -> bool:
        """True after `close`, and always in a fork of the process that opened the portal."""
        return self._closed or self._loop.is_closed() or os.getpid() != self._pid

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the portal's loop and wait for what it returns or raises.

        An interrupt (Ctrl-C) cancels the coroutine and waits up to `CANCEL_TIMEOUT_S` for its
        clean-up. Raises `ClosedError` when the portal is closed, also if that happens meanwhile,
        or was opened before a fork; in these cases a coroutine that was not started never is.
        """
        call = _Call(self._loop, coroutine)
        try:
            self._submit(call)
            return call.outcome.result()
        except CancelledError:
            if self._closed:
                raise ClosedError("This Memory was closed while the call was running.") from None
            raise
        except BaseException:
            call.abandon()
            raise
        finally:
            # The exception's traceback holds this frame, the call holds the exception: cut the circle.
            del call

    def iterate(self, source: AsyncIterator[T]) -> Iterator[T]:
        """Iterate synchronously; each step is a `run`. Leaving the loop early closes `source`."""
        try:
            while (step := self.run(_next_step(source))) is not None:
                yield step[0]
        finally:
            # If the portal closed first, it has closed the source too. And a garbage collection may
            # end this generator in the portal's own thread, where asyncio closes the source itself.
            if self._refusal() is None:
                with suppress(ClosedError):
                    self.run(_close_source(source))

    def close(self) -> None:
        """Cancel what still runs, stop the loop and join its thread; a second time does nothing.

        In a fork it only does nothing: the thread belongs to the parent.
        """
        if self.closed:
            return
        if error := self._refusal():
            raise error
        with self._lock:
            self._closed = True
        self._stop()

    def _submit(self, call: "_Call[Any]") -> None:
        # The process is checked before the lock: in a fork, it may be held by a thread that is gone.
        if error := self._refusal():
            raise error
        with self._lock:
            if error := self._refusal():
                raise error
            call.submit()

    def _refusal(self) -> MnemicError | None:
        """Why nothing can be run from here and now, if so."""
        if os.getpid() != self._pid:
            return ClosedError(
                f"This Memory was opened in process {self._pid} and cannot be used in its fork "
                f"{os.getpid()}: open a new Memory in the child."
            )
        if self.closed:
            return ClosedError("This Memory is closed: open a new one.")
        if threading.get_ident() == self._thread.ident:
            return MnemicError(
                "A synchronous Memory was called from its own event-loop thread, which would wait for "
                "itself: in callbacks and iterables that are passed to Memory use AsyncMemory instead."
            )
        return None


class Facade(Generic[Wrapped]):
    """A synchronous object: the async one that does the work, and the portal that runs it."""

    _async: Wrapped
    _portal: Portal
    # True only for the object that started the portal; its views share it and must not stop it.
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
    """One coroutine on its way through the loop, while a thread outside waits for its outcome.

    It is *new*, then *submitted*, then *running* as a task, then *done*. It can be abandoned at any
    of these points, because an interrupt can arrive at any of them.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T]) -> None:
        self.outcome: Future[T] = Future()
        self._loop = loop
        self._coroutine = coroutine
        self._submitted = False
        self._task: asyncio.Task[T] | None = None

    def submit(self) -> None:
        self._submitted = True
        self._loop.call_soon_threadsafe(self._start)

    def abandon(self) -> None:
        """Cancel the coroutine wherever it is, and give it time to clean up."""
        if self.outcome.done():
            return
        if not self._submitted:
            self._coroutine.close()
            return
        self._loop.call_soon_threadsafe(self._cancel)
        with suppress(CancelledError, TimeoutError):
            self.outcome.exception(CANCEL_TIMEOUT_S)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._coroutine)
        self._task.add_done_callback(self._settle)

    def _cancel(self) -> None:
        if self._task is None:
            self._coroutine.close()
            self.outcome.cancel()
        else:
            self._task.cancel()

    def _settle(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.outcome.cancel()
        elif error := task.exception():
            self.outcome.set_exception(error)
        else:
            self.outcome.set_result(task.result())


async def _next_step(source: AsyncIterator[T]) -> tuple[T] | None:
    """The next item in a tuple of its own, so that an item may be None; None at the end."""
    try:
        return (await anext(source),)
    except StopAsyncIteration:
        return None


async def _close_source(source: AsyncIterator[object]) -> None:
    aclose = getattr(source, "aclose", None)
    if aclose is not None:
        await aclose()


def _run_loop(ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    """The thread's body. The runner cancels what is left over, then closes the loop.

    The kind of loop is fixed: psycopg needs a selector loop, and a policy that the application set
    for itself is none of the portal's business.
    """
    # Asyncio ends a loop whose task raises one of these; the caller gets it as the call's outcome.
    with (
        suppress(SystemExit, KeyboardInterrupt),
        asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner,
    ):
        runner.run(_serve_until_stopped(ready))


async def _serve_until_stopped(ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    stop = asyncio.Event()
    ready.set_result((asyncio.get_running_loop(), stop))
    await stop.wait()


def _stop_loop(
    loop: asyncio.AbstractEventLoop, stop: asyncio.Event, thread: threading.Thread, pid: int
) -> None:
    """The finalizer: knows nothing of the portal itself, so that the portal can become garbage."""
    if os.getpid() != pid:
        return  # a fork: its copy of the loop shares the parent's file descriptors, leave them alone
    with suppress(RuntimeError):  # the loop is closed already, because a task raised SystemExit
        loop.call_soon_threadsafe(stop.set)
    if threading.current_thread() is thread:
        return  # garbage collected in the loop itself, which cannot wait for its own end
    thread.join(STOP_TIMEOUT_S)
    if thread.is_alive():
        logger.warning("A coroutine did not end within %s s of being cancelled.", STOP_TIMEOUT_S)
