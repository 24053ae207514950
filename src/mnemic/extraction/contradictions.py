"""Contradictions: what happens when a statement gives another value of the same subject and attribute.

Only statements of one owner, channel, subject and attribute are compared, so an unrelated statement is never
changed. A new value of an attribute with one value supersedes the old one, whose validity ends; values of
other attributes are added. A denial ends the value that it denies. These cases are decided otherwise:

- The old value is anchored, or comes from a better source (measured before reasoned before witnessed), or the
  policy is `flag_review`: the new statement waits for review, and recall leaves it out.
- The new value is older than the known one: it is stored as past.
- The policy is `prefer_old`: the new statement is stored as superseded, unless it corrects the old one.

All changes of one transaction are a changeset (`record/changesets.py`), which can be shown and undone.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.extraction.attributes import OPPOSITES
from mnemic.extraction.protocol import ProposedStatement
from mnemic.record.changesets import MemoryChange, stage_and_apply
from mnemic.types.memory import Provenance
from mnemic.types.scope import Scope
from mnemic.types.statement import ContradictionPolicy

DEFAULT_POLICY: ContradictionPolicy = "prefer_new"
_RANKS: Mapping[str, int] = {"witnessed": 0, "reasoned": 1, "measured": 2}
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class NewStatement:
    """A statement that was just said, and its memory, which `is_new` or was known before."""

    memory_id: UUID
    proposal: ProposedStatement
    is_new: bool


@dataclass(frozen=True, slots=True)
class Rival:
    """A current statement about the same subject and attribute, or the opposite attribute."""

    memory_id: UUID
    attribute: str
    is_negated: bool
    tense: str
    is_single_valued: bool
    is_same_value: bool
    anchored: bool
    provenance: Provenance
    valid_from: datetime | None
    valid_to: datetime | None
    begins_at: datetime
    true_at: datetime
    order: int

    @property
    def age(self) -> tuple[datetime, int, UUID]:
        """Orders statements from old to new; `order` is their order in the batch, -1 if not in it."""
        return self.true_at, self.order, self.memory_id


async def resolve_contradictions(
    transaction: Transaction,
    scope: Scope,
    said: Sequence[NewStatement],
    *,
    policy: ContradictionPolicy | None,
) -> int:
    """Decide the contradictions of new statements, in the order said; returns how many were superseded.

    Those that were known before take part: what was said last is current.
    """
    if not any(each.is_new for each in said):
        return 0
    rivals = await read_rivals(transaction, scope, said)
    chosen = policy or await read_policy(transaction, scope.channel)
    changes: dict[UUID, MemoryChange] = {}
    proposals = {each.memory_id: each.proposal for each in said}
    for own, others in sorted(rivals, key=lambda pair: pair[0].age):
        active = [rival for rival in others if rival.memory_id not in changes]
        if own.memory_id not in changes:
            for change in _decide(own, proposals[own.memory_id], active, chosen):
                changes[change.memory_id] = change
    if not changes:
        return 0
    await stage_and_apply(
        transaction,
        scope,
        list(changes.values()),
        purpose="contradiction",
        reason="Statements gave other values of the same attributes.",
        details={"policy": chosen},
    )
    return sum(change.kind == "supersede" for change in changes.values())


async def read_policy(transaction: Transaction, channel: str) -> ContradictionPolicy:
    """The policy of the channel, else that of the tenant, else the default."""
    rows = await transaction.rows("statements.policies", {"channel": channel})
    policies = {row["channel"]: row["policy"] for row in rows}
    chosen: ContradictionPolicy = policies.get(channel, policies.get("", DEFAULT_POLICY))
    return chosen


async def read_rivals(
    transaction: Transaction, scope: Scope, said: Sequence[NewStatement]
) -> list[tuple[Rival, list[Rival]]]:
    """Each of the statements as it is stored, with the other current ones about the same."""
    parameters = {
        "owner": scope.require_owner(),
        "ids": [each.memory_id for each in said],
        "replaced_ids": [each.proposal.replaces for each in said],
        "opposites": [OPPOSITES.get(each.proposal.attribute) for each in said],
    }
    orders = {each.memory_id: order for order, each in enumerate(said)}
    found: dict[UUID, list[Rival]] = defaultdict(list)
    for row in await transaction.rows_unprepared("statements.rivals", parameters):
        found[row["new_id"]].append(_rival(row, orders))
    pairs = []
    for new_id, rivals in found.items():
        own = next((rival for rival in rivals if rival.memory_id == new_id), None)
        if own is not None:
            pairs.append((own, [rival for rival in rivals if rival.memory_id != new_id]))
    return pairs


def _rival(row: Row, orders: Mapping[UUID, int]) -> Rival:
    fields = {name: value for name, value in row.items() if name != "new_id"}
    return Rival(**fields, order=orders.get(row["memory_id"], -1))


def _decide(
    own: Rival, proposal: ProposedStatement, others: Sequence[Rival], policy: ContradictionPolicy
) -> Iterable[MemoryChange]:
    """The changes that a new statement leads to."""
    contradicted = [rival for rival in others if _contradicts(own, proposal.replaces, rival)]
    if not contradicted:
        return ()
    protected = [rival for rival in contradicted if _why_protected(own, rival, policy) is not None]
    if protected:
        return [_quarantined(own, protected[0], _why_protected(own, protected[0], policy) or "")]
    if own.tense == "past":
        return [superseded(rival, own) for rival in contradicted if rival.age < own.age]
    newer = [rival for rival in contradicted if rival.age > own.age]
    if policy == "prefer_old" and not proposal.is_correction and not own.is_negated:
        return [superseded(own, contradicted[-1], "The policy prefers the older value.")]
    if newer and not proposal.is_correction:
        return [superseded(own, newer[0], "It is older than the known value.")]
    reason = (
        "A correction gave another value." if proposal.is_correction else "A newer statement replaced it."
    )
    return [superseded(rival, own, reason) for rival in contradicted]


def gives_way(older: Rival, newer: Rival) -> bool:
    """Whether a newer statement supersedes an older one that nothing protects.

    `is_same_value` of both says whether they have the same value.
    """
    return _contradicts(newer, None, older) and _why_protected(newer, older, "prefer_new") is None


def _contradicts(own: Rival, replaced_id: UUID | None, rival: Rival) -> bool:
    """Whether both cannot be true at the same time."""
    if rival.tense == "past":
        return False
    if replaced_id == rival.memory_id:
        return True
    is_same_attribute = rival.attribute == own.attribute
    if own.tense == "past":
        return is_same_attribute and rival.is_same_value and not rival.is_negated
    if not is_same_attribute:
        return rival.is_same_value and not rival.is_negated and not own.is_negated
    if rival.is_same_value:
        return own.is_negated != rival.is_negated
    return own.is_single_valued and not own.is_negated and not rival.is_negated


def _why_protected(own: Rival, rival: Rival, policy: ContradictionPolicy) -> str | None:
    """Why the known value stays until somebody decides."""
    if rival.anchored:
        return "It contradicts an anchored memory."
    if _RANKS[rival.provenance] > _RANKS[own.provenance]:
        return "It contradicts a memory from a better source."
    if policy == "flag_review":
        return "The policy asks for a review of contradictions."
    return None


def _quarantined(own: Rival, rival: Rival, reason: str) -> MemoryChange:
    return MemoryChange(
        own.memory_id,
        "quarantine",
        {"status": "pending_review"},
        reason,
        evidence=(rival.memory_id,),
        related_id=rival.memory_id,
        relationship="contradicts",
    )


def superseded(older: Rival, newer: Rival, reason: str = "A newer statement ended it.") -> MemoryChange:
    """The change by which one statement takes the place of another, whose validity ends where it begins."""
    fields: dict[str, Any] = {"status": "superseded", "superseded_by": newer.memory_id}
    ends = [newer.begins_at, *([older.valid_to] if older.valid_to is not None else [])]
    if older.valid_from is not None:
        fields["valid_to"] = max(min(ends), older.valid_from + _TICK)
    else:
        fields["valid_to"] = min(ends)
    return MemoryChange(older.memory_id, "supersede", fields, reason, evidence=(newer.memory_id,))
