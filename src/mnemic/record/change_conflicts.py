"""What stands in the way of applying or undoing changes of the change log.

Each check returns a sentence per memory, so that a caller sees all conflicts at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.errors import ChangeConflictError
from mnemic.record.memories import SHARED_BY_CHUNKS, VERSIONED_FIELDS, forgotten
from mnemic.types.changeset import RecordedChange
from mnemic.types.checks import check_id
from mnemic.types.memory import MemoryRecord

SHOWN_MAX = 5
"""Conflicts that a message names; the error has all of them."""

States = Mapping[UUID, MemoryRecord]
Versions = Mapping[tuple[UUID, int], MemoryRecord]


async def current_states(
    transaction: Transaction, owner: str, memory_ids: Sequence[UUID]
) -> dict[UUID, MemoryRecord]:
    """The memories as they are now, locked until the transaction ends."""
    parameters = {"owner": owner, "ids": sorted(set(memory_ids))}
    await transaction.rows("changesets.lock_memories", parameters)
    return await _read_states(transaction, owner, memory_ids)


async def versions_of(
    transaction: Transaction, owner: str, pairs: Sequence[tuple[UUID, int]]
) -> dict[tuple[UUID, int], MemoryRecord]:
    """Some versions of memories."""
    wanted = sorted(set(pairs))
    parameters = {
        "owner": owner,
        "ids": [each[0] for each in wanted],
        "versions": [each[1] for each in wanted],
    }
    rows = await transaction.rows("changesets.versions", parameters)
    return {(row["memory_id"], row["version"]): MemoryRecord.from_row(row) for row in rows}


def state_conflicts(changes: Sequence[RecordedChange], current: States, before: Versions) -> list[str]:
    """Memories that are not as they were when the changes were proposed."""
    conflicts = {}
    for change in changes:
        proposed_for = before.get((change.memory_id, change.version_before))
        state = current.get(change.memory_id)
        if state is None or proposed_for is None:
            conflicts[change.memory_id] = f"the memory {change.memory_id} is gone"
        elif not _is_same(state, proposed_for):
            conflicts[change.memory_id] = _changed_since(state, proposed_for, "the change was proposed")
    return list(conflicts.values())


def undo_conflicts(
    changes: Sequence[RecordedChange], current: States, versions: Versions
) -> tuple[dict[UUID, MemoryRecord], list[str]]:
    """The states to restore, and memories that are not as the changes left them.

    The change that was applied last comes first.
    """
    targets = dict(current)
    conflicts: dict[UUID, str] = {}
    for change in changes:
        memory_id, after = change.memory_id, change.version_after or change.version_before
        state, left, before = (
            targets.get(memory_id),
            versions.get((memory_id, after)),
            versions.get((memory_id, change.version_before)),
        )
        if state is None or left is None or before is None:
            conflicts.setdefault(memory_id, f"the memory {memory_id} or its history is gone")
            continue
        if left.content != before.content:
            # No change of the log does this, but an imported one may claim so, and the vector would be wrong.
            conflicts.setdefault(memory_id, f"the memory {memory_id} had other words before")
        has_changed_it = after != change.version_before or change.kind == "add"
        if has_changed_it and not _is_same(state, left):
            conflicts.setdefault(memory_id, _changed_since(state, left, "the change was applied"))
        if has_changed_it:
            put_state(targets, forgotten(before) if change.kind == "add" else before)
    return targets, list(conflicts.values())


async def same_text_conflicts(
    transaction: Transaction, owner: str, changes: Sequence[RecordedChange]
) -> list[str]:
    """Chunks that another chunk of their own text would replace: chunks share their replacement."""
    pairs = [
        (change.memory_id, check_id(name, change.fields[name]))
        for change in changes
        for name in ("superseded_by", "merged_into")
        if change.fields.get(name) is not None
    ]
    if not pairs:
        return []
    parameters = {
        "owner": owner,
        "ids": [each[0] for each in pairs],
        "other_ids": [each[1] for each in pairs],
    }
    return [
        f"the memory {row['memory_id']} and {row['other_id']} are parts of one text"
        for row in await transaction.rows("changesets.same_text", parameters)
    ]


async def target_conflicts(
    transaction: Transaction,
    owner: str,
    changes: Sequence[RecordedChange],
    current: States,
    targets: States,
) -> list[str]:
    """What in the rest of the record does not allow the new states."""
    return [
        *await _missing_replacements(transaction, owner, changes, current, targets),
        *await _equal_contents(transaction, owner, current, targets),
    ]


async def later_changes(transaction: Transaction, owner: str, changes: Sequence[RecordedChange]) -> list[str]:
    """Memories that another applied changeset changed again, even if their states look the same."""
    change_ids = [each.change_id for each in changes]
    parameters = {"owner": owner, "change_ids": change_ids, "shared": list(SHARED_BY_CHUNKS)}
    rows = await transaction.rows("changesets.later_changes", parameters)
    return [
        f"the memory {row['memory_id']} was changed again by the changeset {row['changeset_id']}"
        for row in rows
    ]


async def dependants(transaction: Transaction, owner: str, current: States, targets: States) -> list[str]:
    """Memories that would stay hidden although undoing forgets the memory that replaced them."""
    leaving = [
        each.memory_id
        for each in targets.values()
        if each.deleted_at is not None and current[each.memory_id].deleted_at is None
    ]
    if not leaving:
        return []
    rows = await transaction.rows("changesets.dependants", {"owner": owner, "ids": leaving})
    found = []
    for row in rows:
        target = targets.get(row["memory_id"])
        if target is None or (
            target.deleted_at is None and row["other_id"] in (target.superseded_by, target.merged_into)
        ):
            found.append(
                f"the memory {row['memory_id']} was replaced by {row['other_id']}, which would be forgotten"
            )
    return found


def put_state(states: dict[UUID, MemoryRecord], new: MemoryRecord) -> None:
    """Replace the state of a memory as writing does: the chunks of its text get the shared fields."""
    states[new.memory_id] = new
    if new.whole_id is None:
        return
    shared = {name: getattr(new, name) for name in SHARED_BY_CHUNKS}
    for state in [each for each in states.values() if each.whole_id == new.whole_id]:
        states[state.memory_id] = replace(state, **shared)


def raise_conflicts(done: str, changeset_id: UUID, conflicts: Sequence[str]) -> None:
    """ChangeConflictError if there is a conflict."""
    if not conflicts:
        return
    shown = "; ".join(conflicts[:SHOWN_MAX])
    more = f"; and {len(conflicts) - SHOWN_MAX} more" if len(conflicts) > SHOWN_MAX else ""
    raise ChangeConflictError(
        f"The changeset {changeset_id} cannot be {done}, and nothing was changed: {shown}{more}.",
        conflicts=tuple(conflicts),
    )


async def _missing_replacements(
    transaction: Transaction,
    owner: str,
    changes: Sequence[RecordedChange],
    current: States,
    targets: States,
) -> list[str]:
    """Memories whose replacement is gone, or is not recalled and so would hide what it replaces."""
    referring = {
        (target.memory_id, other_id)
        for target in targets.values()
        for other_id, now_id in _replacements(target, current[target.memory_id])
        if other_id is not None and other_id != now_id
    }
    related = {
        (change.memory_id, change.related_id)
        for change in changes
        if change.related_id is not None and change.state != "applied"
    }
    other_ids = [other_id for _, other_id in referring | related]
    others = {**await _read_states(transaction, owner, other_ids), **targets}
    return [
        f"the memory {memory_id} would refer to {other_id}, which is gone"
        for memory_id, other_id in sorted(referring | related)
        if other_id not in others
    ] + [
        f"the memory {memory_id} would be replaced by {other_id}, which is {_how_hidden(others[other_id])}"
        for memory_id, other_id in sorted(referring)
        if other_id in others
        and targets[memory_id].status in ("superseded", "merged")
        and _how_hidden(others[other_id])
    ]


def _replacements(
    target: MemoryRecord, state: MemoryRecord
) -> tuple[tuple[UUID | None, UUID | None], tuple[UUID | None, UUID | None]]:
    return (target.superseded_by, state.superseded_by), (target.merged_into, state.merged_into)


def _how_hidden(memory: MemoryRecord) -> str:
    """Why a memory is not recalled itself; empty if it is, or if another one replaced it in turn."""
    if memory.deleted_at is not None:
        return "forgotten"
    return memory.status if memory.status in ("archived", "pending_review") else ""


async def _equal_contents(
    transaction: Transaction, owner: str, current: States, targets: States
) -> list[str]:
    """Memories that would become active although the owner has an active one with the same content.

    A branch and the memories outside of it do not count as duplicates of each other, until they are merged.
    """
    moved = {each.memory_id for each in targets.values() if each.channel != current[each.memory_id].channel}
    returning = [
        each
        for each in targets.values()
        if _is_active(each) and (each.memory_id in moved or not _is_active(current[each.memory_id]))
    ]
    if not returning:
        return []
    parameters = {
        "owner": owner,
        "ids": [each.memory_id for each in returning],
        "categories": [each.category for each in returning],
        "channels": [each.channel for each in returning],
        "retired_ids": [
            each.memory_id for each in targets.values() if each.memory_id in moved or not _is_active(each)
        ],
    }
    return [
        f"the memory {row['memory_id']} has the same content as {row['twin_id']}, which is active"
        for row in await transaction.rows("changesets.twins", parameters)
    ]


async def _read_states(
    transaction: Transaction, owner: str, memory_ids: Sequence[UUID]
) -> dict[UUID, MemoryRecord]:
    if not memory_ids:
        return {}
    parameters = {"owner": owner, "ids": sorted(set(memory_ids))}
    rows = await transaction.rows("changesets.memories", parameters)
    return {row["memory_id"]: MemoryRecord.from_row(row) for row in rows}


def _is_same(one: MemoryRecord, other: MemoryRecord) -> bool:
    return all(getattr(one, field) == getattr(other, field) for field in VERSIONED_FIELDS)


def _is_active(state: MemoryRecord) -> bool:
    return state.status == "active" and state.deleted_at is None


def _changed_since(state: MemoryRecord, expected: MemoryRecord, since: str) -> str:
    """Name the memory and the fields that differ."""
    fields = [field for field in VERSIONED_FIELDS if getattr(state, field) != getattr(expected, field)]
    return f"the memory {state.memory_id} was changed after {since} ({', '.join(fields)})"
