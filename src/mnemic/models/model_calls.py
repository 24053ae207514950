"""Call a model of somebody else: with a time limit, and translating its exceptions.

A model that gives no answer within its time limit is cancelled. Then it is not called again for a while, and
calls fail at once; each further timeout doubles that pause, and an answer ends it. So a model that is down
delays few callers, and one that leaves a blocked thread behind at each call does so rarely. A call that
ignores its cancellation is abandoned. While `ABANDONED_MAX` such calls have not ended, further calls fail at
once.

States of a model: *answering* → (timeout) *paused* → (the pause is over) *answering* …

The model runs in the event loop of the caller. One that blocks it, for example by `time.sleep`, cannot be
stopped.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any, Generic, NoReturn, TypeVar

from mnemic.errors import MnemicError
from mnemic.models.failure_report import report_failure

PAUSE_FIRST_S = 10.0
"""How long a model is not called after a timeout."""

PAUSE_MAX_S = 600.0
"""Longest pause: each timeout without an answer in between doubles the pause up to this."""

CANCEL_GRACE_S = 1.0
"""How long a cancelled call may take to end before it is abandoned."""

ABANDONED_MAX = 4
"""Most abandoned calls of one model at a time."""

Error = TypeVar("Error", bound=MnemicError)


class UnusableResult(Exception):
    """A model returned something that cannot be used. The message says what, without its content."""


class ModelCalls(Generic[Error]):
    """Calls one model. `model` says in messages what it is; `failure` is the error for all its failures."""

    def __init__(self, model: str, failure: type[Error]) -> None:
        self._model = model
        self._failure = failure
        self._abandoned: set[asyncio.Task[Any]] = set()
        self._paused_until_s = 0.0
        self._pause_s = 0.0

    async def run(self, call: Callable[[], Awaitable[Any]], *, timeout_s: float) -> Any:
        """The result of `call`, of any type: the caller must check it.

        Exceptions become `failure`, except errors of Mnemic, and except SystemExit and the like, which reach
        the caller as they are.
        """
        self._check_ready()
        task = asyncio.create_task(_outcome(call))
        try:
            await asyncio.wait({task}, timeout=timeout_s)
            if not task.done():
                self._pause()
                raise self._failure(f"The {self._model} gave no answer within {timeout_s:g} s.")
        finally:
            await self._end(task)
        if task.cancelled():
            raise self._failure(f"The {self._model} cancelled itself and gave no answer.")
        self._pause_s = 0.0
        result, error = task.result()
        if error is not None:
            self._raise(error)
        return result

    def unusable(self, problem: str) -> Error:
        """The error for a result that cannot be used."""
        return self._failure(f"The {self._model} returned an unusable result: {problem}.")

    def _check_ready(self) -> None:
        left_s = self._paused_until_s - monotonic()
        if left_s > 0:
            raise self._failure(
                f"The {self._model} gave no answer in time and is not called again for {left_s:.0f} s."
            )
        if len(self._abandoned) >= ABANDONED_MAX:
            raise self._failure(
                f"{len(self._abandoned)} calls of the {self._model} hang and ignore their cancellation."
            )

    def _pause(self) -> None:
        if monotonic() < self._paused_until_s:
            return  # Concurrent calls that time out together count once.
        self._pause_s = min(max(2 * self._pause_s, PAUSE_FIRST_S), PAUSE_MAX_S)
        self._paused_until_s = monotonic() + self._pause_s

    async def _end(self, task: asyncio.Task[Any]) -> None:
        """Cancel a call that still runs, after a timeout or because the caller was cancelled."""
        if task.done():
            return
        task.cancel()
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)
        await asyncio.wait({task}, timeout=CANCEL_GRACE_S)

    def _raise(self, error: BaseException) -> NoReturn:
        if isinstance(error, MnemicError) or not isinstance(error, Exception):
            raise error
        if isinstance(error, UnusableResult):
            raise self.unusable(str(error)) from error
        # Every library has its own exceptions; all are translated here.
        raise self._failure(f"The {self._model} failed: {report_failure(self._model, error)}.") from error


async def _outcome(call: Callable[[], Awaitable[Any]]) -> tuple[Any, BaseException | None]:
    """The result or the exception. A task that raised SystemExit would end the event loop."""
    try:
        answer: object = call()
        if not inspect.isawaitable(answer):
            problem = f"{kind_of(answer)}, which cannot be awaited: its method must be `async def`"
            return None, UnusableResult(problem)
        return await answer, None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 — the caller raises it
        return None, error


def kind_of(value: object) -> str:
    """What a value is, for error messages: its type, never its content."""
    return "None" if value is None else f"an object of type {type(value).__name__}"
