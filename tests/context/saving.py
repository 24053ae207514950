"""Windows and contents of sessions, saved and read in transactions of their own."""

from collections.abc import Sequence
from typing import Any

from mnemic.context import store
from mnemic.context.step import SavedWindow
from mnemic.db.database import TenantDatabase
from mnemic.types.scope import Scope


async def save_step(database: TenantDatabase, *arguments: Any, **options: Any) -> SavedWindow:
    """`store.save_step` in a transaction of its own."""
    return await database.run(lambda transaction: store.save_step(transaction, *arguments, **options))


async def load_contents(
    database: TenantDatabase, scope: Scope, session: str, keys: Sequence[str] | None = None
) -> dict[str, str]:
    """`store.load_contents` in a transaction of its own."""
    async with database.transaction() as transaction:
        return await store.load_contents(transaction, scope, session, keys)
