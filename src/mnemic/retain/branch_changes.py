"""Change a memory of the parent in a branch: store the changed memory there, and hide the parent's."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mnemic.db.database import Transaction
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.record.branches import BranchMemory, hide
from mnemic.record.memories import checked_change, get_memory
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller
from mnemic.types.memory import MemoryRecord
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope

COPIED_FIELDS = (
    "content",
    "category",
    "tags",
    "metadata",
    "source",
    "provenance",
    "confidence",
    "anchored",
    "at",
    "valid_from",
    "valid_to",
    "expires_at",
    "role",
    "name",
)
"""Fields of the parent's memory that the memory in the branch gets. A turn keeps its place in the
conversation of the parent; the memory in the branch has none."""


async def replace_in_branch(
    caller: Caller,
    scope: Scope,
    seen: BranchMemory,
    change: Callable[[MemoryRecord], MemoryRecord],
    *,
    reason: str | None,
) -> MemoryRecord:
    """Store the changed memory in the branch of the scope and hide the parent's there, in one transaction.

    Returns the memory in the branch, or the parent's if nothing changes.
    """
    old = seen.record
    if seen.is_hidden:
        raise NotFoundError(f"The memory {old.memory_id} is forgotten or replaced in this branch.")
    if old.whole_id is not None:
        raise InvalidInputError(
            f"The memory {old.memory_id} is part of a longer text: in a branch, forget it and retain the "
            "new text."
        )
    new = checked_change(old, change)
    if new == old:
        return replace(old, outdated_by=None)

    async def hide_old(transaction: Transaction, retained: Retained) -> None:
        if not retained.memory_ids:
            raise ConflictError("The branch has a memory with this text already.")
        await hide(transaction, scope, old, replaced_by=retained.memory_ids[0], reason=reason)

    retained = await retain_items(
        caller, [_item(new)], {}, owner=scope.owner, channel=scope.channel, and_then=hide_old
    )
    return await get_memory(caller.database, scope, retained.memory_ids[0])


def _item(new: MemoryRecord) -> dict[str, Any]:
    values = {field: getattr(new, field) for field in COPIED_FIELDS}
    return {field: value for field, value in values.items() if value is not None}
