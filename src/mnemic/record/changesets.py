"""The change log: stage, apply, reject and undo changes that Mnemic makes to memories on its own behalf.

The states of changes and changesets are described in `types/changeset.py`. Staging changes nothing that
anybody can recall. Applying and undoing first lock the memories and compare their states with those that the
change log expects. If some were changed since, ChangeConflictError names them and what stands in the way, and
nothing is changed. States are compared, not version numbers, so that changesets can be undone one after the
other, the last one first: undoing adds a version that equals the one before the change.

Every function is given an open transaction, so that a feature commits its own rows together with the changes.
Reasons must not quote other memories: they stay when those are erased.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.db.json_value import as_jsonb_object, as_jsonb_objects
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.record.change_conflicts import (
    current_states,
    dependants,
    later_changes,
    put_state,
    raise_conflicts,
    same_text_conflicts,
    state_conflicts,
    target_conflicts,
    undo_conflicts,
    versions_of,
)
from mnemic.record.change_fields import as_json, check_fields
from mnemic.record.memories import checked_change, edited, forgotten, read_memory, reverted_to, write_state
from mnemic.types.changeset import (
    CHANGE_KINDS,
    CHANGESET_PURPOSES,
    DECIDED_STATES,
    OPEN_STATES,
    REASON_MAX_CHARACTERS,
    ChangeKind,
    ChangesetPurpose,
    ChangeState,
    RecordedChange,
)
from mnemic.types.checks import check_choice, check_id, check_text
from mnemic.types.memory import RELATIONSHIP_KINDS, ChangedBy, MemoryRecord, RelationshipKind
from mnemic.types.scope import Scope

CHANGES_MAX = 10_000
"""Changes in one changeset: applying them is one transaction."""
EVIDENCE_MAX = 64
"""Memories that one change names as its evidence."""
UNDO_PREFIX = "Undone: "


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """A proposed change of one memory.

    `fields` are new values of versioned fields (all except the content). `related_id` and `relationship` name
    a relationship from the memory to another one, which is added when the change is applied. `signals` are
    the numbers that led to the proposal.
    """

    memory_id: UUID
    kind: ChangeKind
    fields: Mapping[str, Any]
    reason: str
    evidence: tuple[UUID, ...] = ()
    related_id: UUID | None = None
    relationship: RelationshipKind | None = None
    signals: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


async def stage(
    transaction: Transaction,
    scope: Scope,
    changes: Sequence[MemoryChange],
    *,
    purpose: ChangesetPurpose,
    reason: str,
    details: Mapping[str, Any] | None = None,
) -> UUID:
    """Record a changeset for the memories as they are now; returns its id. Nothing visible changes.

    Undoing an `add` forgets the memory, which the caller has stored already.
    """
    if not 1 <= len(changes) <= CHANGES_MAX:
        raise InvalidInputError(f"A changeset has 1 to {CHANGES_MAX:,} changes, not {len(changes):,}.")
    parameters = {
        "owner": scope.require_owner(),
        "channel": scope.channel,
        "purpose": check_choice("purpose", purpose, CHANGESET_PURPOSES),
        "reason": check_text("reason", reason, max_characters=REASON_MAX_CHARACTERS),
        "details": as_jsonb_object("details", details or {}),
        "process": scope.process,
    }
    rows = [_checked_row(position, change) for position, change in enumerate(changes)]
    changeset_id: UUID = (await transaction.one("changesets.add", parameters))["changeset_id"]
    await add_changes(transaction, scope.require_owner(), changeset_id, rows)
    return changeset_id


async def apply(
    transaction: Transaction, owner: str, changeset_id: UUID, *, change_ids: Collection[UUID] | None = None
) -> tuple[UUID, ...]:
    """Apply the open changes of a changeset, or some of them; returns their ids.

    ChangeConflictError if a memory is not as it was when the change was proposed, if a memory that takes its
    place is gone, or if the owner has an active memory with the same content already.
    """
    changeset = await _lock_changeset(transaction, owner, changeset_id)
    changes = await _choose(transaction, owner, changeset_id, change_ids, OPEN_STATES, "apply")
    current = await current_states(transaction, owner, [change.memory_id for change in changes])
    before = await versions_of(
        transaction, owner, [(each.memory_id, each.version_before) for each in changes]
    )
    conflicts = state_conflicts(changes, current, before)
    conflicts += await same_text_conflicts(transaction, owner, changes)
    raise_conflicts("applied", changeset_id, conflicts)
    targets = dict(current)
    for change in changes:
        put_state(targets, _changed(targets[change.memory_id], change))
    conflicts = await target_conflicts(transaction, owner, changes, current, targets)
    raise_conflicts("applied", changeset_id, conflicts)
    applied = [await _apply_one(transaction, current, change, changeset) for change in changes]
    await _mark_applied(transaction, owner, applied)
    await transaction.execute(
        "changesets.advance_open",
        {"owner": owner, "changeset_id": changeset_id, "ids": [change.memory_id for change in changes]},
    )
    await _settle(transaction, owner, changeset_id)
    return tuple(change.change_id for change in changes)


async def stage_and_apply(
    transaction: Transaction,
    scope: Scope,
    changes: Sequence[MemoryChange],
    *,
    purpose: ChangesetPurpose,
    reason: str,
    details: Mapping[str, Any] | None = None,
) -> UUID:
    """Stage a changeset and apply it at once; returns its id."""
    changeset_id = await stage(transaction, scope, changes, purpose=purpose, reason=reason, details=details)
    await apply(transaction, scope.require_owner(), changeset_id)
    return changeset_id


async def undo(
    transaction: Transaction, owner: str, changeset_id: UUID, *, change_ids: Collection[UUID] | None = None
) -> tuple[UUID, ...]:
    """Undo applied changes of a changeset, last one first, and stage rejected ones again; returns their ids.

    These are the named changes; otherwise all applied ones or, if nothing is applied, all rejected ones. The
    memories get back the versioned fields that they had before; added relationships are removed, and added
    memories are forgotten. ChangeConflictError if a memory was changed since, if its earlier state refers to
    an erased memory, if the owner has stored the same content since, or if an added memory has replaced
    another one since.
    """
    changeset = await _lock_changeset(transaction, owner, changeset_id)
    changes = await _choose(transaction, owner, changeset_id, change_ids, DECIDED_STATES, "undo")
    applied = sorted((each for each in changes if each.state == "applied"), key=_applied_at)[::-1]
    rejected = [each for each in changes if each.state == "rejected"]
    if applied:
        await _undo_applied(transaction, owner, changeset, applied)
    if change_ids is None and applied:
        rejected = []
    ids = [change.change_id for change in rejected]
    await transaction.execute("changesets.mark", {"owner": owner, "change_ids": ids, "state": "staged"})
    await _settle(transaction, owner, changeset_id)
    return tuple(change.change_id for change in (*applied, *rejected))


async def _undo_applied(
    transaction: Transaction, owner: str, changeset: Mapping[str, Any], changes: Sequence[RecordedChange]
) -> None:
    """Undo changes in this order."""
    changeset_id = changeset["changeset_id"]
    current = await current_states(transaction, owner, [change.memory_id for change in changes])
    pairs = [(each.memory_id, version) for each in changes for version in (each.version_before, _after(each))]
    versions = await versions_of(transaction, owner, pairs)
    targets, conflicts = undo_conflicts(changes, current, versions)
    conflicts += await later_changes(transaction, owner, changes)
    raise_conflicts("undone", changeset_id, conflicts)
    conflicts = await target_conflicts(transaction, owner, changes, current, targets)
    conflicts += await dependants(transaction, owner, current, targets)
    raise_conflicts("undone", changeset_id, conflicts)
    for change in changes:
        await _undo_one(transaction, current, change, versions, changeset)
    await _remove_relationships(transaction, owner, changes, changeset["process"])
    ids = [change.change_id for change in changes]
    await transaction.execute("changesets.mark", {"owner": owner, "change_ids": ids, "state": "undone"})


async def approve(
    transaction: Transaction, owner: str, changeset_id: UUID, *, change_ids: Collection[UUID] | None = None
) -> tuple[UUID, ...]:
    """Mark staged changes as approved, all or some; returns their ids."""
    return await _decide(transaction, owner, changeset_id, change_ids, ("staged",), "approve", "approved")


async def approved_ids(transaction: Transaction, owner: str, changeset_id: UUID) -> list[UUID]:
    """The ids of the approved changes; NotFoundError if the owner has no such changeset."""
    await _lock_changeset(transaction, owner, changeset_id)
    parameters = {
        "owner": owner,
        "changeset_id": changeset_id,
        "states": ["approved"],
        "change_ids": None,
    }
    return [row["change_id"] for row in await transaction.rows("changesets.changes", parameters)]


async def reject(
    transaction: Transaction, owner: str, changeset_id: UUID, *, change_ids: Collection[UUID] | None = None
) -> tuple[UUID, ...]:
    """Mark open changes as rejected, all or some; returns their ids. They can no longer be applied."""
    return await _decide(transaction, owner, changeset_id, change_ids, OPEN_STATES, "reject", "rejected")


async def add_changes(
    transaction: Transaction, owner: str, changeset_id: UUID, rows: Sequence[dict[str, Any]]
) -> None:
    """Store checked changes of a changeset; NotFoundError if the owner lacks one of the memories."""
    parameters = {
        "owner": owner,
        "changeset_id": changeset_id,
        "changes": as_jsonb_objects("change", rows),
    }
    found = {row["memory_id"] for row in await transaction.rows("changesets.add_changes", parameters)}
    missing = {row["memory_id"] for row in rows} - {str(memory_id) for memory_id in found}
    if missing:
        raise NotFoundError(f"There is no memory {min(missing)} of this owner.")


async def _decide(
    transaction: Transaction,
    owner: str,
    changeset_id: UUID,
    change_ids: Collection[UUID] | None,
    states: Sequence[ChangeState],
    verb: str,
    state: ChangeState,
) -> tuple[UUID, ...]:
    await _lock_changeset(transaction, owner, changeset_id)
    changes = await _choose(transaction, owner, changeset_id, change_ids, states, verb)
    ids = [change.change_id for change in changes]
    await transaction.execute("changesets.mark", {"owner": owner, "change_ids": ids, "state": state})
    await _settle(transaction, owner, changeset_id)
    return tuple(ids)


async def _choose(
    transaction: Transaction,
    owner: str,
    changeset_id: UUID,
    change_ids: Collection[UUID] | None,
    states: Sequence[ChangeState],
    verb: str,
) -> list[RecordedChange]:
    """The changes to decide about, in their order: all in these states, or those that are named."""
    if change_ids is not None and not 1 <= len(change_ids) <= CHANGES_MAX:
        raise InvalidInputError(f"Name 1 to {CHANGES_MAX:,} changes, not {len(change_ids):,}.")
    parameters = {
        "owner": owner,
        "changeset_id": changeset_id,
        "states": list(states) if change_ids is None else None,
        "change_ids": list(change_ids) if change_ids is not None else None,
    }
    rows = await transaction.rows("changesets.changes", parameters)
    changes = [RecordedChange.from_row(row) for row in rows]
    missing = set(change_ids or ()) - {change.change_id for change in changes}
    if missing:
        raise NotFoundError(f"The changeset {changeset_id} has no change {min(missing)}.")
    for change in changes:
        if change.state not in states:
            raise ConflictError(
                f"The change {change.change_id} is {change.state}: there is nothing to {verb}."
            )
    if not changes:
        raise ConflictError(f"The changeset {changeset_id} has no change to {verb}.")
    return changes


async def _apply_one(
    transaction: Transaction,
    current: dict[UUID, MemoryRecord],
    change: RecordedChange,
    changeset: Mapping[str, Any],
) -> RecordedChange:
    """Write one change; returns it with the versions and what was added."""
    state = await _fresh(transaction, current[change.memory_id])
    changed_by: ChangedBy = "conflict_resolution" if changeset["purpose"] == "contradiction" else "system"
    new = await _write(transaction, state, _changed(state, change), changed_by, change.reason)
    current[change.memory_id] = new
    is_added = False
    if change.relationship is not None:
        edge = _edge(state.owner, change) | {"process": changeset["process"]}
        is_added = await transaction.first("changesets.relate", edge) is not None
    return replace(
        change, version_before=state.version, version_after=new.version, relationship_added=is_added
    )


async def _mark_applied(transaction: Transaction, owner: str, applied: Sequence[RecordedChange]) -> None:
    parameters = {
        "owner": owner,
        "change_ids": [change.change_id for change in applied],
        "versions_before": [change.version_before for change in applied],
        "versions_after": [change.version_after for change in applied],
        "relationships_added": [change.relationship_added for change in applied],
    }
    await transaction.execute("changesets.mark_applied", parameters)


async def _undo_one(
    transaction: Transaction,
    current: dict[UUID, MemoryRecord],
    change: RecordedChange,
    versions: Mapping[tuple[UUID, int], MemoryRecord],
    changeset: Mapping[str, Any],
) -> None:
    state = await _fresh(transaction, current[change.memory_id])
    new = state
    if _after(change) != change.version_before:
        new = reverted_to(versions[change.memory_id, change.version_before])(state)
    if change.kind == "add":
        new = forgotten(new)
    changed_by: ChangedBy = "conflict_resolution" if changeset["purpose"] == "contradiction" else "system"
    reason = UNDO_PREFIX + change.reason[: REASON_MAX_CHARACTERS - len(UNDO_PREFIX)]
    current[change.memory_id] = await _write(transaction, state, new, changed_by, reason)


async def _write(
    transaction: Transaction, state: MemoryRecord, new: MemoryRecord, changed_by: ChangedBy, reason: str
) -> MemoryRecord:
    """Write a new state, unless it equals the old one; returns it with its version."""
    if new == state:
        return state
    return replace(new, version=await write_state(transaction, state, new, changed_by, reason))


async def _fresh(transaction: Transaction, state: MemoryRecord) -> MemoryRecord:
    """The state of a memory now. Writing one chunk of a text changes the others."""
    if state.whole_id is None:
        return state
    return await read_memory(transaction, state.owner, state.memory_id)


async def _remove_relationships(
    transaction: Transaction, owner: str, changes: Sequence[RecordedChange], process: str
) -> None:
    """Remove the relationships that the changes added, except those that other applied changes need."""
    undone_ids = [change.change_id for change in changes]
    for change in changes:
        if change.relationship_added:
            edge = _edge(owner, change)
            needed = await transaction.first(
                "changesets.hand_over_relationship", {**edge, "undone_ids": undone_ids}
            )
            if needed is None:
                await transaction.execute("changesets.unrelate", {**edge, "process": process})


async def _lock_changeset(transaction: Transaction, owner: str, changeset_id: UUID) -> Mapping[str, Any]:
    row = await transaction.first("changesets.lock", {"owner": owner, "changeset_id": changeset_id})
    if row is None:
        raise NotFoundError(f"There is no changeset {changeset_id} of this owner.")
    return row


async def _settle(transaction: Transaction, owner: str, changeset_id: UUID) -> None:
    await transaction.one("changesets.settle", {"owner": owner, "changeset_id": changeset_id})


def _changed(state: MemoryRecord, change: RecordedChange) -> MemoryRecord:
    """The state after a change."""
    return checked_change(state, edited(check_fields(change.fields))) if change.fields else state


def _checked_row(position: int, change: MemoryChange) -> dict[str, Any]:
    """A change as JSON for the query `changesets.add_changes`."""
    memory_id = check_id("memory_id", change.memory_id)
    fields = check_fields(change.fields)
    if (change.related_id is None) != (change.relationship is None):
        raise InvalidInputError("A change names both related_id and relationship, or neither.")
    if memory_id in (change.related_id, fields.get("superseded_by"), fields.get("merged_into")):
        raise InvalidInputError(f"The memory {memory_id} cannot replace itself or be related to itself.")
    if len(change.evidence) > EVIDENCE_MAX:
        raise InvalidInputError(f"A change names at most {EVIDENCE_MAX} memories as evidence.")
    if change.relationship is not None:
        check_choice("relationship", change.relationship, RELATIONSHIP_KINDS)
    return {
        "position": position,
        "memory_id": str(memory_id),
        "kind": check_choice("kind", change.kind, CHANGE_KINDS),
        "fields": as_json(fields),
        "related_id": str(change.related_id) if change.related_id is not None else None,
        "relationship": change.relationship,
        "reason": check_text("reason", change.reason, max_characters=REASON_MAX_CHARACTERS),
        "evidence": [str(check_id("evidence", each)) for each in change.evidence],
        "signals": dict(change.signals),
    }


def _edge(owner: str, change: RecordedChange) -> dict[str, Any]:
    return {
        "owner": owner,
        "from_id": change.memory_id,
        "to_id": change.related_id,
        "kind": change.relationship,
    }


def _after(change: RecordedChange) -> int:
    """The version that an applied change made."""
    return change.version_after if change.version_after is not None else change.version_before


def _applied_at(change: RecordedChange) -> datetime:
    """Sorts applied changes in the order in which they were applied; those of one call have the same time."""
    return change.applied_at or datetime.min.replace(tzinfo=UTC)
