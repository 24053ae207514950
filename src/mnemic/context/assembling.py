"""Assemble the context of a session within a budget of tokens, by one query (`context_sessions.assemble`)."""

from mnemic.context.saved_rows import as_text
from mnemic.context.sessions import session_in
from mnemic.context.store import place_of
from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase
from mnemic.types.checks import check_whole
from mnemic.types.context import AssembledContext, AssembledObject
from mnemic.types.scope import Scope

BUDGET_TOKENS_MIN, BUDGET_TOKENS_MAX = 1, 10_000_000
RESTORED_CALLS = 8
"""A restored object is shown in full for so many requests."""
HEAD_BYTES = 24
"""Bytes of the heading of an object, besides its key."""


async def assemble(
    database: TenantDatabase, scope: Scope, session: str, budget_tokens: int
) -> AssembledContext:
    """The objects of a session that fit, pinned ones first, then by level, the last used first."""
    parameters = {
        **place_of(scope, session),
        "budget_tokens": check_whole("budget_tokens", budget_tokens, BUDGET_TOKENS_MIN, BUDGET_TOKENS_MAX),
        "restored_calls": RESTORED_CALLS,
        "head_bytes": HEAD_BYTES,
    }
    async with database.transaction() as transaction:
        rows = await transaction.rows("context_sessions.assemble", parameters)
        if not rows:
            await session_in(transaction, scope, session)
    shown = [row for row in rows if row["form"] is not None]
    objects = tuple(_object(row) for row in shown)
    return AssembledContext(
        text="\n\n".join(f"{_heading(row)}\n{item.text}" for row, item in zip(shown, objects, strict=True)),
        objects=objects,
        tokens=sum(item.tokens for item in objects),
        budget_tokens=budget_tokens,
        left_out=tuple(row["key"] for row in rows if row["form"] is None),
    )


def _object(row: Row) -> AssembledObject:
    return AssembledObject(
        key=row["key"],
        level=row["level"],
        tokens=row["tokens"],
        is_pinned=row["is_pinned"],
        text=as_text(row["text"]),
    )


def _heading(row: Row) -> str:
    """One line that names the object, so that the agent can ask for more of it."""
    form = "full text" if row["form"] == "full" else f"level {row['level']}"
    return f"[{row['key']}: {form}]"
