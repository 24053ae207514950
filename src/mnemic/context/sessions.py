"""Sessions as users see them: lists, objects with their levels, pressure, the history of decisions."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from mnemic.context import changing
from mnemic.context.admitting import as_public
from mnemic.context.changing import find_key, no_session
from mnemic.context.description import describe_missing
from mnemic.context.level_store import levels_of
from mnemic.context.levels.level import Source
from mnemic.context.policy.zones import pressure_of
from mnemic.context.saved_rows import as_text
from mnemic.context.store import place_of
from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.types.checks import check_choices, check_flag, check_id, check_text
from mnemic.types.context import (
    CONTEXT_EVENT_KINDS,
    ContextEvent,
    ContextEventKind,
    ContextObject,
    ContextObjectText,
    ContextPressure,
    ContextSession,
)
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope


async def list_sessions(
    database: TenantDatabase, scope: Scope, *, is_open: bool | None, before: UUID | str | None, limit: int
) -> list[ContextSession]:
    """Sessions of an owner, newest first."""
    parameters = {
        "owner": scope.require_owner(),
        "session": None,
        "is_open": check_flag("is_open", is_open) if is_open is not None else None,
        "before": check_id("before", before) if before is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [ContextSession(**row) for row in await transaction.rows("context_sessions.list", parameters)]


async def get_session(database: TenantDatabase, scope: Scope, session: str) -> ContextSession:
    """One session in numbers; NotFoundError if the owner has none of this name."""
    async with database.transaction() as transaction:
        return await session_in(transaction, scope, session)


async def session_in(transaction: Transaction, scope: Scope, session: str) -> ContextSession:
    """The same inside a transaction."""
    parameters = {**place_of(scope, session), "is_open": None, "before": None, "limit": 1}
    row = await transaction.first("context_sessions.list", parameters)
    if row is None:
        raise no_session(session)
    return ContextSession(**row)


async def list_objects(
    database: TenantDatabase, scope: Scope, session: str, *, after: str | None, limit: int
) -> list[ContextObject]:
    """Objects of a session in order of admission."""
    parameters = {
        **place_of(scope, session),
        "key": None,
        "after": check_text("after", after) if after is not None else None,
        "limit": check_limit(limit),
    }
    await describe_missing(database, scope, session)
    async with database.transaction() as transaction:
        rows = await transaction.rows("context_sessions.objects", parameters)
        if not rows:
            await session_in(transaction, scope, session)
    return [_object(row) for row in rows]


async def get_object(database: TenantDatabase, scope: Scope, session: str, key: str) -> ContextObjectText:
    """An object with its full text, its relationships and all its levels."""
    await describe_missing(database, scope, session)
    async with database.transaction() as transaction:
        await session_in(transaction, scope, session)
        found = await find_key(transaction, scope, session, key)
        parameters: dict[str, Any] = {**place_of(scope, session), "key": found, "after": None, "limit": 1}
        row = await transaction.one("context_sessions.objects", parameters)
        related = await transaction.rows("context_sessions.relationships", parameters)
        content = await transaction.one("context.contents", {**parameters, "keys": [found]})
    item, text = _object(row), as_text(content["content"])
    source = Source(text, item.type, item.tool, item.source_key, item.is_error)
    return ContextObjectText(
        object=item,
        text=text,
        levels=await levels_of(database, scope, source),
        related=tuple((one["from_key"], one["to_key"], one["relation"]) for one in related),
    )


async def set_pin(
    database: TenantDatabase, scope: Scope, session: str, key: str, *, is_pinned: bool
) -> ContextObject:
    """Pin or unpin an object, and return it."""
    found = await changing.set_pin(database, scope, session, key, is_pinned=is_pinned)
    parameters = {**place_of(scope, session), "key": found, "after": None, "limit": 1}
    async with database.transaction() as transaction:
        return _object(await transaction.one("context_sessions.objects", parameters))


async def pressure(
    database: TenantDatabase, scope: Scope, session: str, budget_tokens: int
) -> ContextPressure:
    """How full the window is, by the tokens of the last request."""
    found = await get_session(database, scope, session)
    return as_public(pressure_of(found.tokens, budget_tokens))


async def history(
    database: TenantDatabase,
    scope: Scope,
    session: str,
    *,
    kinds: Sequence[ContextEventKind] | None,
    after: UUID | str | None,
    limit: int,
) -> list[ContextEvent]:
    """The decisions of a session in the order in which they were taken."""
    parameters = {
        **place_of(scope, session),
        "kinds": check_choices("kinds", kinds, CONTEXT_EVENT_KINDS),
        "after": check_id("after", after) if after is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        rows = await transaction.rows("context_sessions.history", parameters)
        if not rows:
            await session_in(transaction, scope, session)
    return [_event(row) for row in rows]


async def delete_session(database: TenantDatabase, scope: Scope, session: str) -> bool:
    """Delete a session and its history; returns whether there was one. Memories that it left stay."""
    async with database.transaction() as transaction:
        return await transaction.first("context_sessions.delete", place_of(scope, session)) is not None


def _object(row: Row) -> ContextObject:
    fields = dict(row)
    fields["content_hash"] = bytes(row["content_hash"]).hex()
    for name in ("tokens", "names", "tags"):
        fields[name] = tuple(row[name])
    return ContextObject(**fields)


def _event(row: Row) -> ContextEvent:
    fields = dict(row)
    fields["restored"] = tuple(row["restored"] or ())
    fields["parts"] = row["parts"] or {}
    return ContextEvent(**fields)
