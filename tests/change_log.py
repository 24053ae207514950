"""The change log of a tenant, for tests of functions that features call."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.record import changesets
from mnemic.record.changesets import MemoryChange
from mnemic.types.scope import Scope

Result = TypeVar("Result")

SCOPE = Scope("alice", "_global", "curator")


class Log:
    """The change log of Alice's tenant, one transaction per call."""

    def __init__(self, database: TenantDatabase) -> None:
        self._database = database

    async def stage(self, *changes: MemoryChange, **options: Any) -> UUID:
        given = {"purpose": "curation", "reason": "a test", **options}
        return await self._run(lambda transaction: changesets.stage(transaction, SCOPE, changes, **given))

    async def stage_and_apply(self, *changes: MemoryChange, **options: Any) -> UUID:
        given = {"purpose": "curation", "reason": "a test", **options}
        return await self._run(
            lambda transaction: changesets.stage_and_apply(transaction, SCOPE, changes, **given)
        )

    async def apply(self, changeset_id: UUID, *change_ids: UUID, owner: str = "alice") -> tuple[UUID, ...]:
        return await self._run(
            lambda transaction: changesets.apply(
                transaction, owner, changeset_id, change_ids=change_ids or None
            )
        )

    async def undo(self, changeset_id: UUID, *change_ids: UUID, owner: str = "alice") -> tuple[UUID, ...]:
        return await self._run(
            lambda transaction: changesets.undo(
                transaction, owner, changeset_id, change_ids=change_ids or None
            )
        )

    async def reject(self, changeset_id: UUID, *change_ids: UUID) -> tuple[UUID, ...]:
        return await self._run(
            lambda transaction: changesets.reject(
                transaction, "alice", changeset_id, change_ids=change_ids or None
            )
        )

    async def _run(self, work: Callable[[Transaction], Awaitable[Result]]) -> Result:
        return await self._database.run(work)
