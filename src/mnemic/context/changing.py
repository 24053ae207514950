"""Changes of a stored window: pins, relationships and faults of `memory.context(session)`.

Each change locks the session, loads its window, and saves what differs. A process that has the window in
memory, such as a proxy, finds another version when it saves next, and loads the window again.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from mnemic.context.policy.faults import RESTORED_MAX, dependencies
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.step import Fault, FaultKind, Relation, SavedObject, SavedWindow
from mnemic.context.store import load_window_in, place_of, save_step
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.types.checks import check_choice, check_text
from mnemic.types.context import CONTEXT_RELATIONS, ContextRelation
from mnemic.types.scope import Scope

FAULT_CALLS_MAX = 100
"""Calls of faults that a window remembers."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A window after a change, with the faults to record and the objects that came back."""

    window: SavedWindow
    faults: tuple[Fault, ...] = ()
    restored: tuple[str, ...] = field(default=())


Change = Callable[[Transaction, SavedWindow], Awaitable[Changed]]


async def change_window(database: TenantDatabase, scope: Scope, session: str, change: Change) -> SavedWindow:
    """Change the window of a session while no other transaction can; NotFoundError if there is none."""

    async def work(transaction: Transaction) -> SavedWindow:
        window = await held_window(transaction, scope, session)
        changed = await change(transaction, window)
        saved = await save_step(
            transaction, scope, session, None, changed.window, {}, previous=window, faults=changed.faults
        )
        if changed.restored:
            parameters: dict[str, Any] = {**place_of(scope, session), "keys": list(changed.restored)}
            await transaction.execute("context.mark_restored", parameters)
        return saved

    return await database.run(work)


async def held_window(transaction: Transaction, scope: Scope, session: str) -> SavedWindow:
    """The window of a session, locked until the transaction ends."""
    await transaction.first("context.hold_session", place_of(scope, session))
    window = await load_window_in(transaction, scope, session)
    if window is None:
        raise no_session(session)
    return window


def no_session(session: str) -> NotFoundError:
    """The error for a session that the owner does not have."""
    return NotFoundError(f"This owner has no context session {session!a}. `mnemic context list` shows all.")


async def find_key(transaction: Transaction, scope: Scope, session: str, key: str) -> str:
    """The key of an object, which may be given by its source; NotFoundError if there is none."""
    wanted = check_text("key", key)
    row = await transaction.first("context.find_key", {**place_of(scope, session), "key": wanted})
    if row is None:
        raise NotFoundError(f"The session {session!a} has no object {wanted[:80]!a}.")
    return str(row["key"])


async def set_pin(database: TenantDatabase, scope: Scope, session: str, key: str, *, is_pinned: bool) -> str:
    """Pin or unpin an object; returns its key."""
    found = ""

    async def change(transaction: Transaction, window: SavedWindow) -> Changed:
        nonlocal found
        found = await find_key(transaction, scope, session, key)
        return Changed(_with(window, found, is_pinned=is_pinned))

    await change_window(database, scope, session, change)
    return found


async def relate(
    database: TenantDatabase, scope: Scope, session: str, key: str, other: str, relation: ContextRelation
) -> None:
    """Record how an object stands to another one of the session."""
    kind = check_choice("relation", relation, CONTEXT_RELATIONS)

    async def change(transaction: Transaction, window: SavedWindow) -> Changed:
        one = await find_key(transaction, scope, session, key)
        two = await find_key(transaction, scope, session, other)
        if one == two:
            raise InvalidInputError("An object cannot be related to itself.")
        related: tuple[str, str, Relation] = (one, two, kind)  # type: ignore[assignment]
        if related not in window.related:
            window = replace(window, related=(*window.related, related))
        if kind == "supersedes":
            window = _with(window, two, superseded_by=one)
        return Changed(window)

    await change_window(database, scope, session, change)


def faulted(
    window: SavedWindow, key: str, kind: FaultKind, *, question: str = "", tokens: int | None = None
) -> Changed:
    """Count a fault of an object. A restore brings back what it depends on, too; repeated faults pin it."""
    objects = {item.key: item for item in window.objects}
    lowered = [
        other for other in dependencies(key, window.related) if other in objects and objects[other].level
    ]
    restored = (key, *lowered)[:RESTORED_MAX] if kind == "restore" else ()
    size = sum(objects[each].tokens[0] for each in restored if each in objects) if tokens is None else tokens
    fault = Fault(key=key, kind=kind, question=question, tokens=size, restored=restored)
    faults = objects[key].faults + 1 if key in objects else 0
    is_pinned = key in objects and (objects[key].is_pinned or faults >= PagingSettings().pin_faults)
    window = _with(window, key, faults=faults, is_pinned=is_pinned)
    for each in {key, *restored}:
        window = _with(window, each, last_use=window.calls)
    window = replace(
        window,
        fault_calls=(*window.fault_calls, window.calls)[-FAULT_CALLS_MAX:],
        appended_tokens=window.appended_tokens + size,
    )
    return Changed(window, (fault,), restored)


def object_in(window: SavedWindow, key: str) -> SavedObject | None:
    """An object of a window; None if it has left the window."""
    return next((item for item in window.objects if item.key == key), None)


def _with(window: SavedWindow, key: str, **fields: Any) -> SavedWindow:
    """The window with an object changed."""
    return replace(
        window,
        objects=tuple(replace(item, **fields) if item.key == key else item for item in window.objects),
    )
