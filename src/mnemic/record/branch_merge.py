"""Merge a branch into its parent, through the change log.

A plan lists what merging does: every memory of the branch moves to the parent, and what the branch hides is
forgotten or superseded there. A conflict stands against part of it and has a choice (`types/branch.py`). A
dry run returns the plan; merging makes the same plan, in a transaction that blocks writers to the branch, and
applies it as one changeset. Undoing the changeset opens the branch again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.record.changesets import CHANGES_MAX, MemoryChange, stage_and_apply
from mnemic.types.branch import (
    MERGE_CHOICES,
    ConflictKind,
    Merge,
    MergeChange,
    MergeChoice,
    MergeConflict,
)
from mnemic.types.checks import check_choice, check_flag
from mnemic.types.scope import Scope, check_name

CERTAINTY_MIN = 0.5
"""Marks of outdated memories below it are too unsure to be shown as a conflict."""
SUCCESSORS_MAX = 32
"""How far to follow a memory that the parent has superseded again and again since the fork."""
SHOWN_MAX = 5
"""Conflicts that a message names."""
REASON = "merged from a branch"
"""It stays when the branch is dropped, so it does not name it."""


async def merge(
    database: TenantDatabase,
    scope: Scope,
    channel: str,
    *,
    dry_run: bool,
    choices: Mapping[str, MergeChoice],
    otherwise: MergeChoice | None,
) -> Merge:
    """Merge a branch, or with `dry_run` return what merging would do.

    ConflictError if the branch was merged, has open branches of its own, or has conflicts without a choice.
    """
    parameters = {"owner": scope.require_owner(), "channel": check_name("channel", channel)}
    chosen = _Choices.checked(choices, otherwise)
    check_flag("dry_run", dry_run)

    async def work(transaction: Transaction) -> Merge:
        if not dry_run:
            await transaction.execute("branches.hold_owner", parameters)
            await transaction.execute("branches.hold", parameters)
        branch = await _read_branch(transaction, parameters)
        plan = await _make_plan(transaction, {**parameters, **branch}, chosen)
        if dry_run:
            return plan.result(dry_run=True)
        _check_resolved(plan.conflicts)
        return await _apply(transaction, scope, plan, parameters)

    return await database.run(work)


@dataclass(frozen=True)
class _Choices:
    """The choices of the caller, by conflict, and for the others."""

    by_id: Mapping[str, MergeChoice]
    otherwise: MergeChoice | None

    @staticmethod
    def checked(choices: object, otherwise: object) -> "_Choices":
        if not isinstance(choices, Mapping):
            raise InvalidInputError("choices must map ids of conflicts to branch, parent or both.")
        by_id = {name: check_choice("choices", choice, MERGE_CHOICES) for name, choice in choices.items()}
        if otherwise is not None:
            check_choice("otherwise", otherwise, MERGE_CHOICES)
        return _Choices(cast(Mapping[str, MergeChoice], by_id), cast(MergeChoice | None, otherwise))

    def of(self, conflict: MergeConflict) -> MergeConflict:
        """The conflict with its choice. Of duplicates, which cannot be stored twice, the parent's counts."""
        choice = self.by_id.get(conflict.conflict_id)
        if choice is None and self.otherwise in conflict.choices:
            choice = self.otherwise
        if choice is None and conflict.kind == "duplicate":
            choice = "parent"
        if choice is not None and choice not in conflict.choices:
            raise InvalidInputError(
                f"The conflict {conflict.conflict_id} has the choices {', '.join(conflict.choices)}, "
                f"not {choice}."
            )
        return replace(conflict, choice=choice)

    def check_known(self, conflicts: Iterable[MergeConflict]) -> None:
        unknown = set(self.by_id) - {conflict.conflict_id for conflict in conflicts}
        if unknown:
            raise InvalidInputError(
                f"There is no conflict {min(unknown)!r} (any more): look at a dry run for those there are."
            )


@dataclass
class _Plan:
    """What merging does. `retired` maps memories of the parent to what replaces or forgets them."""

    channel: str
    parent: str
    own: Mapping[UUID, Row]
    conflicts: list[MergeConflict] = field(default_factory=list)
    left_behind: dict[UUID, UUID | None] = field(default_factory=dict)
    """Memories that stay in the branch, and the memory of the parent that counts instead of a duplicate."""
    retired: dict[UUID, tuple[MergeChange, MemoryChange]] = field(default_factory=dict)
    passed_on: dict[UUID, MergeChange] = field(default_factory=dict)

    @property
    def moved(self) -> list[UUID]:
        return [memory_id for memory_id in self.own if memory_id not in self.left_behind]

    @property
    def changes(self) -> list[MemoryChange]:
        """First what makes room in the parent, then the moves."""
        supersedes = {
            change.replaced_by: memory_id
            for memory_id, (change, _) in self.retired.items()
            if change.replaced_by
        }
        return [
            *(staged for _, staged in self.retired.values()),
            *(_move(memory_id, self.parent, supersedes.get(memory_id)) for memory_id in self.moved),
        ]

    def result(self, *, dry_run: bool, changeset_id: UUID | None = None) -> Merge:
        shown = [
            *(change for change, _ in self.retired.values()),
            *self.passed_on.values(),
            *(MergeChange(memory_id, "move", self.own[memory_id]["content"]) for memory_id in self.moved),
        ]
        return Merge(
            channel=self.channel,
            parent=self.parent,
            dry_run=dry_run,
            changes=tuple(shown),
            conflicts=tuple(self.conflicts),
            left_behind=tuple(self.left_behind),
            changeset_id=changeset_id,
        )


async def _read_branch(transaction: Transaction, parameters: Mapping[str, Any]) -> Row:
    branch = await transaction.first("branches.get", parameters)
    if branch is None:
        raise NotFoundError(f"There is no branch {parameters['channel']!r}.")
    if branch["state"] == "merged":
        raise ConflictError(f"The branch {branch['channel']!r} was merged on {branch['merged_at']:%Y-%m-%d}.")
    if branch["children"]:
        raise ConflictError(
            f"The branch {branch['channel']!r} has branches itself: merge or drop "
            f"{', '.join(map(repr, branch['children']))} first."
        )
    return branch


async def _make_plan(transaction: Transaction, branch: Mapping[str, Any], choices: _Choices) -> _Plan:
    limits = {"limit": CHANGES_MAX + 1, "successors_max": SUCCESSORS_MAX, "certainty_min": CERTAINTY_MIN}
    parameters = {**branch, **limits}
    own = await transaction.rows("branches.own", parameters)
    hidden = await transaction.rows("branches.hidden", parameters)
    if len(own) + len(hidden) > CHANGES_MAX:
        raise ConflictError(
            f"The branch has more than {CHANGES_MAX:,} changes, which one merge cannot do: "
            "retain its memories in the parent instead, and drop it."
        )
    plan = _Plan(branch["channel"], branch["parent"], {row["memory_id"]: row for row in own})
    hidden_ids = {row["memory_id"] for row in hidden} | {row["current_id"] for row in hidden}
    for row in await transaction.rows("branches.duplicates", parameters):
        if row["other_id"] not in hidden_ids:
            _add_duplicate(plan, choices, row)
    for row in await transaction.rows("branches.values", parameters):
        if row["other_id"] not in hidden_ids and row["memory_id"] not in plan.left_behind:
            _add_value(plan, choices, row)
    for row in hidden:
        _add_hidden(plan, choices, row)
    choices.check_known(plan.conflicts)
    return plan


def _add_duplicate(plan: _Plan, choices: _Choices, row: Row) -> None:
    """The branch stored what the parent has: one of both goes."""
    conflict = choices.of(_conflict("duplicate", row["memory_id"], row["content"], row, ("branch", "parent")))
    plan.conflicts.append(conflict)
    if conflict.choice == "parent":
        plan.left_behind[row["memory_id"]] = row["other_id"]
    else:
        fields = {"status": "merged", "merged_into": row["memory_id"]}
        _retire(plan, row["other_id"], row["other_content"], "merge", fields, row["memory_id"])


def _add_value(plan: _Plan, choices: _Choices, row: Row) -> None:
    """The parent has stored another value since the fork."""
    own = plan.own[row["memory_id"]]
    conflict = choices.of(_conflict("value", row["memory_id"], row["content"], row, MERGE_CHOICES))
    plan.conflicts.append(conflict)
    if conflict.choice == "parent":
        plan.left_behind[row["memory_id"]] = None
    elif conflict.choice == "branch":
        fields = _superseded(row["memory_id"], own["valid_from"], row["valid_from"])
        _retire(plan, row["other_id"], row["other_content"], "supersede", fields, row["memory_id"])


def _add_hidden(plan: _Plan, choices: _Choices, row: Row) -> None:
    """The branch forgot or replaced a memory of the parent, or of a channel above it."""
    successor = _successor(plan, row["replaced_by"])
    if row["seen_in"] != plan.parent:
        plan.passed_on[row["memory_id"]] = MergeChange(row["memory_id"], "hide", row["content"], successor)
        return
    is_gone = row["deleted_at"] is not None
    if row["is_changed"] and not (is_gone and row["replaced_by"] is None):
        own = plan.own.get(row["replaced_by"])
        other = {"other_id": row["current_id"], "other_content": row["content"]}
        conflict = _conflict(
            "changed", row["replaced_by"], own["content"] if own is not None else None, other, MERGE_CHOICES
        )
        conflict = choices.of(conflict)
        plan.conflicts.append(conflict)
        if conflict.choice == "parent" and row["replaced_by"] in plan.own:
            plan.left_behind.setdefault(row["replaced_by"], None)
        if conflict.choice != "branch":
            return
    if is_gone or (row["replaced_by"] in plan.left_behind and successor is None):
        return
    if successor is None:
        fields: dict[str, Any] = {"deleted_at": row["hidden_at"]}
        _retire(plan, row["current_id"], row["content"], "prune", fields, None)
    else:
        valid_from = plan.own[successor]["valid_from"] if successor in plan.own else None
        fields = _superseded(successor, valid_from or row["hidden_at"], row["valid_from"])
        _retire(plan, row["current_id"], row["content"], "supersede", fields, successor)


def _successor(plan: _Plan, replaced_by: UUID | None) -> UUID | None:
    """The memory that takes the place in the parent; None if the branch forgot it, or left it behind."""
    if replaced_by is None or replaced_by not in plan.own:
        return None
    if replaced_by in plan.left_behind:
        return plan.left_behind[replaced_by]
    own = plan.own[replaced_by]
    is_recalled = own["deleted_at"] is None and own["status"] not in ("archived", "pending_review")
    return replaced_by if is_recalled else None


def _retire(
    plan: _Plan, memory_id: UUID, content: str, kind: Any, fields: dict[str, Any], replaced_by: UUID | None
) -> None:
    shown = MergeChange(memory_id, "forget" if kind == "prune" else "supersede", content, replaced_by)
    plan.retired.setdefault(memory_id, (shown, MemoryChange(memory_id, kind, fields, REASON)))


def _superseded(successor: UUID, moment: datetime | None, valid_from: datetime | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"status": "superseded", "superseded_by": successor}
    if moment is not None and (valid_from is None or moment > valid_from):
        fields["valid_to"] = moment
    return fields


def _move(memory_id: UUID, parent: str, supersedes: UUID | None) -> MemoryChange:
    return MemoryChange(
        memory_id,
        "move",
        {"channel": parent},
        REASON,
        related_id=supersedes,
        relationship="supersedes" if supersedes is not None else None,
    )


def _conflict(
    kind: ConflictKind,
    own_id: UUID | None,
    content: str | None,
    other: Mapping[str, Any],
    choices: Sequence[str],
) -> MergeConflict:
    return MergeConflict(
        conflict_id=f"{kind}:{own_id or 'forgotten'}:{other['other_id']}",
        kind=kind,
        branch_memory_id=own_id,
        branch_content=content,
        parent_memory_id=other["other_id"],
        parent_content=other["other_content"],
        choices=cast(tuple[MergeChoice, ...], tuple(choices)),
        choice=None,
    )


def _check_resolved(conflicts: Sequence[MergeConflict]) -> None:
    open_ids = [conflict.conflict_id for conflict in conflicts if conflict.choice is None]
    if open_ids:
        more = f" and {len(open_ids) - SHOWN_MAX} more" if len(open_ids) > SHOWN_MAX else ""
        raise ConflictError(
            f"Nothing was merged: choose branch, parent or both for {', '.join(open_ids[:SHOWN_MAX])}{more}. "
            "A dry run shows the conflicts."
        )


async def _apply(transaction: Transaction, scope: Scope, plan: _Plan, parameters: Mapping[str, Any]) -> Merge:
    changeset_id = None
    if plan.changes:
        changeset_id = await stage_and_apply(
            transaction,
            scope.narrowed(channel=plan.parent),
            plan.changes,
            purpose="merge",
            reason="A branch was merged.",
        )
    merged = {**parameters, "parent": plan.parent, "changeset_id": changeset_id, "ids": list(plan.passed_on)}
    await transaction.execute("branches.pass_on", merged)
    await transaction.execute("branches.record_merge", merged)
    return plan.result(dry_run=False, changeset_id=changeset_id)
