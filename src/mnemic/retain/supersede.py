"""Supersede a memory: store its successor and retire the old one, in one transaction."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.record.branches import read_in_branch
from mnemic.record.memories import get_memory, write_change
from mnemic.retain.branch_changes import replace_in_branch
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller
from mnemic.types.checks import check_time
from mnemic.types.memory import MemoryRecord
from mnemic.types.retained import Retained


async def supersede(
    caller: Caller,
    memory_id: UUID,
    content: str,
    *,
    valid_from: datetime | str | None,
    reason: str | None,
    owner: str | None,
    channel: str | None = None,
) -> MemoryRecord:
    """Store a new memory, exclude the old one from recall and relate both; returns the new memory.

    In a branch, a memory of its parent is hidden there, and the new one is stored in the branch. Raises
    ConflictError if the old memory is superseded already, InvalidInputError if nothing changes.
    """
    scope = caller.scoped(owner, channel)
    seen = await read_in_branch(caller.database, scope, memory_id)
    if seen is not None and not seen.is_own:
        return await replace_in_branch(
            caller, scope, seen, lambda old: _in_place_of(old, content, valid_from), reason=reason
        )
    old = await get_memory(caller.database, scope, memory_id)
    moment = check_time("valid_from", valid_from) if valid_from is not None else datetime.now(UTC)
    _check_supersedable(old, content, moment)

    async def retire_old(transaction: Transaction, retained: Retained) -> None:
        await _retire(transaction, old, retained.memory_ids[0], moment, reason, scope.process)

    successor = {
        "content": content,
        # A turn records what was said. Its successor was not said: it states a fact.
        "category": "factual" if old.category == "episodic" else old.category,
        "tags": old.tags,
        "valid_from": moment,
        "name": old.name,
    }
    retained = await retain_items(
        caller, [successor], {}, owner=owner, channel=old.channel, and_then=retire_old
    )
    return await get_memory(caller.database, scope, retained.memory_ids[0])


def _in_place_of(old: MemoryRecord, content: str, valid_from: datetime | str | None) -> MemoryRecord:
    """The memory that takes the place of one of the parent, in a branch."""
    moment = check_time("valid_from", valid_from) if valid_from is not None else datetime.now(UTC)
    _check_supersedable(old, content, moment)
    category = "factual" if old.category == "episodic" else old.category
    return replace(old, content=content, category=category, valid_from=moment, valid_to=None)


async def _retire(
    transaction: Transaction,
    old: MemoryRecord,
    new_id: UUID,
    moment: datetime,
    reason: str | None,
    process: str,
) -> None:
    valid_to = min(moment, old.valid_to or moment)
    retired = replace(old, status="superseded", superseded_by=new_id, valid_to=valid_to)
    await write_change(transaction, old, retired, changed_by="user", reason=reason)
    relationship = {
        "owner": old.owner,
        "from_id": new_id,
        "to_id": old.memory_id,
        "kind": "supersedes",
        "confidence": 1.0,
        "process": process,
    }
    await transaction.one("memories.relate", relationship)


def _check_supersedable(old: MemoryRecord, content: str, moment: datetime) -> None:
    if old.superseded_by is not None:
        raise ConflictError(
            f"The memory {old.memory_id} is superseded already: supersede {old.superseded_by}, which took "
            "its place."
        )
    if old.content == content:
        raise InvalidInputError("The new content is the same as the old one: there is nothing to supersede.")
    if old.valid_from is not None and moment <= old.valid_from:
        raise InvalidInputError("valid_from must be after the valid_from of the memory that is superseded.")
