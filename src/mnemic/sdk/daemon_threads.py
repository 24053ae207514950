"""Threads that do not keep a program from ending, for the event loop of a `Portal`.

asyncio runs `asyncio.to_thread` and name lookups in an executor, whose threads Python joins when the program
ends. A callback that blocks such a thread for ever, for example an embedder whose connection hangs, would
keep the program from ending. These are daemon threads, which Python does not join.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

THREADS_MAX = 64
"""Most calls that run at a time, blocked ones included; further calls wait."""

SHUTDOWN_TIMEOUT_S = 5.0
"""How long shutting down waits for running calls."""

Parameters = ParamSpec("Parameters")
T = TypeVar("T")


class DaemonThreads(ThreadPoolExecutor):
    """A daemon thread for each call. A ThreadPoolExecutor by type only: asyncio insists on one."""

    def __init__(self) -> None:
        super().__init__(max_workers=1)
        self._changed = threading.Condition()
        self._waiting: deque[_Work] = deque()
        self._thread_count = 0
        self._is_over = False

    def submit(
        self, fn: Callable[Parameters, T], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[T]:
        """Run a function in a thread, at once or when another one has ended."""
        future: Future[T] = Future()
        work = _Work(future, lambda: fn(*args, **kwargs))
        with self._changed:
            if self._is_over:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._thread_count >= THREADS_MAX:
                self._waiting.append(work)
                return future
            self._thread_count += 1
        threading.Thread(target=self._run, args=(work,), name="mnemic-portal-call", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls, drop waiting ones, and wait up to `SHUTDOWN_TIMEOUT_S` for running ones."""
        with self._changed:
            self._is_over = True
            while self._waiting:
                self._waiting.popleft().future.cancel()
            if wait:
                self._changed.wait_for(lambda: self._thread_count == 0, SHUTDOWN_TIMEOUT_S)

    def _run(self, work: "_Work | None") -> None:
        """The body of a thread: one call after the other as long as calls wait."""
        while work is not None:
            work.run()
            with self._changed:
                work = self._waiting.popleft() if self._waiting else None
                if work is None:
                    self._thread_count -= 1
                    self._changed.notify_all()


class _Work:
    """A call and the future of its result."""

    def __init__(self, future: Future[Any], call: Callable[[], Any]) -> None:
        self.future = future
        self._call = call

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self._call())
        except StopIteration as error:
            # A future of asyncio cannot hold a StopIteration.
            self.future.set_exception(RuntimeError(f"the function raised StopIteration: {error}"))
        except BaseException as error:  # noqa: BLE001 — the future passes it to the caller
            self.future.set_exception(error)
