"""Decide about pairs that wait for review: keep the new memory, the old one, or both.

| kind | keep_new | keep_old | keep_both |
|---|---|---|---|
| near_duplicate | the older one is merged into it | the newer one is merged into it | no duplicates |
| contradiction | it supersedes the older one | the newer one is archived | the mark was wrong |
| quarantine | active, supersedes what it contradicts | archived | active |

All changes of memories are one changeset, so that `curation.undo` takes a decision back; then the pair waits
again. A decision for which no memory changes is taken back by `reopen`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from mnemic.curation.classify import MERGED_REASON, merged_fields, superseded_fields
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.govern.audit import audited
from mnemic.record.change_conflicts import current_states
from mnemic.record.changesets import MemoryChange, stage_and_apply
from mnemic.types.changeset import ChangesetPurpose
from mnemic.types.memory import MemoryRecord
from mnemic.types.review import Resolution, ReviewDecision, ReviewKind
from mnemic.types.scope import Scope

REASON = "Somebody decided about memories that waited for review."
_DECIDED = "Somebody decided so in a review."

_WAITS: Mapping[str, str] = {"near_duplicate": "pending", "contradiction": "found"}
"""The stored decision of pairs that wait. Memories in quarantine have a status instead."""
_STORED: Mapping[str, Mapping[str, str]] = {
    "near_duplicate": {"keep_new": "merged", "keep_old": "merged", "keep_both": "distinct"},
    "contradiction": {"keep_new": "outdated", "keep_old": "current", "keep_both": "current"},
}
"""What a decision stores about a pair."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision about one pair; `versions` are those that the caller has seen, if it says so."""

    kind: ReviewKind
    memory_id: UUID
    other_id: UUID | None
    decision: ReviewDecision
    versions: Mapping[UUID, int]


async def resolve(database: TenantDatabase, scope: Scope, choice: Choice) -> Resolution:
    """Carry a decision out; ConflictError if the pair no longer waits or a memory was changed since."""
    if choice.other_id is None and choice.kind != "quarantine":
        raise InvalidInputError("other_id is missing: name both memories of the pair.")
    detail = {"kind": choice.kind, "decision": choice.decision}
    act_target = f"{choice.memory_id} {choice.other_id or ''}".rstrip()
    async with audited(database, scope, action="resolve_review", target=act_target, detail=detail) as act:

        async def work(transaction: Transaction) -> Resolution:
            changes = await _changes(transaction, scope.require_owner(), choice)
            changeset_id = await _store(transaction, scope, choice, changes)
            act.outcome(change_count=len(changes))
            await act.commit_with(transaction)
            return Resolution(choice.kind, choice.memory_id, choice.other_id, choice.decision, changeset_id)

        return await database.run(work)


async def reopen(
    database: TenantDatabase, scope: Scope, kind: ReviewKind, memory_id: UUID, other_id: UUID
) -> None:
    """Let a pair wait again that was kept as it is; NotFoundError if there is no such decision."""
    if kind not in _WAITS:
        raise InvalidInputError("A decision about a memory in quarantine is undone by its changeset.")
    async with database.transaction() as transaction:
        stored = _STORED[kind]["keep_both"]
        pair = (scope.require_owner(), memory_id, other_id)
        if not await _mark(transaction, kind, pair, expected=stored, decision=_WAITS[kind]):
            raise NotFoundError(
                f"The memories {memory_id} and {other_id} are no {kind.replace('_', ' ')} that was decided "
                "by keeping both."
            )


async def wait_again(transaction: Transaction, owner: str, details: Mapping[str, Any]) -> None:
    """After the changeset of a decision was undone, let its pair wait again."""
    review = details.get("review")
    kind = str(review.get("kind")) if isinstance(review, dict) else ""
    if kind not in _WAITS or not isinstance(review, dict):
        return  # A changeset of another purpose, or an imported one, whose details could be anything.
    stored = _STORED[kind].get(str(review.get("decision")))
    try:
        pair = (owner, UUID(str(review.get("memory_id"))), UUID(str(review.get("other_id"))))
    except ValueError:
        return
    if stored is not None:
        await _mark(transaction, kind, pair, expected=stored, decision=_WAITS[kind])


async def _store(
    transaction: Transaction, scope: Scope, choice: Choice, changes: Sequence[MemoryChange]
) -> UUID | None:
    """Mark the pair as decided and apply the changes."""
    if choice.kind in _WAITS and choice.other_id is not None:
        pair = (scope.require_owner(), choice.memory_id, choice.other_id)
        stored, expected = _STORED[choice.kind][choice.decision], _WAITS[choice.kind]
        if not await _mark(transaction, choice.kind, pair, expected=expected, decision=stored):
            raise ConflictError(
                f"The memories {choice.memory_id} and {choice.other_id} do not wait for a decision: somebody "
                "decided already, or they are no such pair. Nothing was changed."
            )
    if not changes:
        return None
    review = {
        "kind": choice.kind,
        "decision": choice.decision,
        "memory_id": str(choice.memory_id),
        "other_id": str(choice.other_id) if choice.other_id is not None else None,
    }
    purpose: ChangesetPurpose = "curation" if choice.kind == "near_duplicate" else "contradiction"
    return await stage_and_apply(
        transaction, scope, changes, purpose=purpose, reason=REASON, details={"review": review}
    )


async def _changes(transaction: Transaction, owner: str, choice: Choice) -> list[MemoryChange]:
    """The changes that a decision leads to, after its memories are locked and checked."""
    ids = [choice.memory_id, *([choice.other_id] if choice.other_id is not None else [])]
    states = await current_states(transaction, owner, ids)
    missing = [memory_id for memory_id in ids if memory_id not in states]
    if missing:
        raise NotFoundError(f"There is no memory {missing[0]} of this owner.")
    for memory_id in ids:
        awaited = "pending_review" if choice.kind == "quarantine" and memory_id == ids[0] else "active"
        _check_state(states[memory_id], awaited, choice.versions.get(memory_id))
    new, old = states[ids[0]], states[ids[1]] if len(ids) > 1 else None
    if choice.kind == "quarantine":
        if old is not None:
            await _check_contradicts(transaction, new, old)
        return _after_quarantine(choice.decision, new, old)
    if old is None or choice.decision == "keep_both":
        return []
    if choice.kind == "near_duplicate":
        return _merged(new, old) if choice.decision == "keep_old" else _merged(old, new)
    return _superseded(old, new) if choice.decision == "keep_new" else [_archived(new, old)]


def _check_state(memory: MemoryRecord, awaited: str, version: int | None) -> None:
    if memory.deleted_at is not None or memory.status != awaited:
        found = "forgotten" if memory.deleted_at is not None else memory.status.replace("_", " ")
        raise ConflictError(
            f"The memory {memory.memory_id} is {found} by now, so there is nothing to decide. Nothing "
            "was changed."
        )
    if version is not None and memory.version != version:
        raise ConflictError(
            f"The memory {memory.memory_id} was changed meanwhile: it has version {memory.version}, you saw "
            f"version {version}. Nothing was changed; look at it again."
        )


async def _check_contradicts(transaction: Transaction, new: MemoryRecord, old: MemoryRecord) -> None:
    parameters = {"memory_id": new.memory_id, "other_id": old.memory_id}
    if await transaction.first("review.contradicts", parameters) is None:
        raise NotFoundError(f"The memories {new.memory_id} and {old.memory_id} do not contradict each other.")


def _after_quarantine(
    decision: ReviewDecision, claim: MemoryRecord, rival: MemoryRecord | None
) -> list[MemoryChange]:
    seen = (rival.memory_id,) if rival is not None else ()
    if decision == "keep_old":
        return [MemoryChange(claim.memory_id, "archive", {"status": "archived"}, _DECIDED, evidence=seen)]
    changes = [MemoryChange(claim.memory_id, "promote", {"status": "active"}, _DECIDED, evidence=seen)]
    if decision == "keep_new" and rival is not None:
        changes += _superseded(rival, claim)
    return changes


def _merged(retired: MemoryRecord, kept: MemoryRecord) -> list[MemoryChange]:
    fields = {"status": "merged", "merged_into": kept.memory_id}
    changes = [MemoryChange(retired.memory_id, "merge", fields, _DECIDED, evidence=(kept.memory_id,))]
    if kept_fields := merged_fields(kept, retired):
        changes.append(
            MemoryChange(kept.memory_id, "merge", kept_fields, MERGED_REASON, evidence=(retired.memory_id,))
        )
    return changes


def _superseded(older: MemoryRecord, newer: MemoryRecord) -> list[MemoryChange]:
    """Supersede a memory, and relate the newer one to it, as `memories.supersede` does."""
    fields = superseded_fields(older, newer, datetime.now(UTC))
    return [
        MemoryChange(older.memory_id, "supersede", fields, _DECIDED, evidence=(newer.memory_id,)),
        MemoryChange(
            newer.memory_id,
            "supersede",
            {},
            "It takes the place of the other memory.",
            related_id=older.memory_id,
            relationship="supersedes",
        ),
    ]


def _archived(memory: MemoryRecord, kept: MemoryRecord) -> MemoryChange:
    return MemoryChange(
        memory.memory_id, "archive", {"status": "archived"}, _DECIDED, evidence=(kept.memory_id,)
    )


async def _mark(
    transaction: Transaction, kind: str, pair: tuple[str, UUID, UUID], *, expected: str, decision: str
) -> bool:
    """Change the stored decision about a pair; False if it is not the expected one."""
    owner, memory_id, other_id = pair
    parameters = {
        "owner": owner,
        "memory_id": memory_id,
        "other_id": other_id,
        "expected": expected,
        "decision": decision,
    }
    return await transaction.first(f"review.decide_{kind}", parameters) is not None
