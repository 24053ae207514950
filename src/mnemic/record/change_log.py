"""Read the change log: changesets, and what their changes change."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import NotFoundError
from mnemic.record.change_conflicts import versions_of
from mnemic.record.change_fields import as_json
from mnemic.record.memories import VERSIONED_FIELDS
from mnemic.types.changeset import CHANGESET_PURPOSES, CHANGESET_STATES, Changeset
from mnemic.types.checks import check_choice, check_id, check_whole
from mnemic.types.curation import ChangeDiff, ChangesetDiff
from mnemic.types.memory import MemoryRecord
from mnemic.types.one_line import one_line, shortened
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope

CONTENT_SHOWN_CHARACTERS = 280
"""Characters of a memory that a diff shows."""
POSITION_MAX = 2**31 - 1


async def list_changesets(
    database: TenantDatabase,
    scope: Scope,
    *,
    state: str | None,
    purpose: str | None,
    before: UUID | str | None,
    limit: int,
) -> list[Changeset]:
    """Changesets of the owner, newest first."""
    parameters = {
        "owner": scope.require_owner(),
        "state": check_choice("state", state, CHANGESET_STATES) if state is not None else None,
        "purpose": check_choice("purpose", purpose, CHANGESET_PURPOSES) if purpose is not None else None,
        "before": check_id("before", before) if before is not None else None,
        "changeset_id": None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [Changeset(**row) for row in await transaction.rows("changesets.list", parameters)]


async def get_changeset(database: TenantDatabase, scope: Scope, changeset_id: UUID) -> Changeset:
    """One changeset of the owner."""
    async with database.transaction() as transaction:
        return await read_changeset(transaction, scope.require_owner(), changeset_id)


async def get_diff(
    database: TenantDatabase, scope: Scope, changeset_id: UUID, *, after: int | None, limit: int
) -> ChangesetDiff:
    """A changeset and its changes in their order, a page at a time."""
    page = check_limit(limit)
    position = check_whole("after", after, 0, POSITION_MAX) if after is not None else None
    async with database.transaction(snapshot=True) as transaction:
        return await read_diff(transaction, scope.require_owner(), changeset_id, after=position, limit=page)


async def read_changeset(transaction: Transaction, owner: str, changeset_id: UUID) -> Changeset:
    """The same as `get_changeset`, inside a transaction."""
    parameters = {
        "owner": owner,
        "changeset_id": changeset_id,
        "state": None,
        "purpose": None,
        "before": None,
        "limit": 1,
    }
    row = await transaction.first("changesets.list", parameters)
    if row is None:
        raise NotFoundError(f"There is no changeset {changeset_id} of this owner.")
    return Changeset(**row)


async def read_diff(
    transaction: Transaction, owner: str, changeset_id: UUID, *, after: int | None, limit: int
) -> ChangesetDiff:
    """The same as `get_diff`, inside a transaction."""
    changeset = await read_changeset(transaction, owner, changeset_id)
    parameters = {"owner": owner, "changeset_id": changeset_id, "after": after, "limit": limit + 1}
    rows = await transaction.rows("changesets.diff", parameters)
    page = rows[:limit]
    before = await versions_of(
        transaction, owner, [(row["memory_id"], row["version_before"]) for row in page]
    )
    others = {"owner": owner, "ids": [_other_id(row) for row in page if _other_id(row) is not None]}
    contents = {
        row["memory_id"]: row["content"] for row in await transaction.rows("changesets.contents", others)
    }
    changes = tuple(
        _diff(row, before.get((row["memory_id"], row["version_before"])), contents) for row in page
    )
    next_after = page[-1]["position"] if len(rows) > limit else None
    return ChangesetDiff(changeset, changes, _text(changeset, changes, next_after), next_after)


def _text(changeset: Changeset, changes: Sequence[ChangeDiff], next_after: int | None) -> str:
    lines = [_title(changeset), one_line(changeset.reason)]
    for change in changes:
        lines += ["", *_lines(change)]
    if next_after is not None:
        lines += ["", f"More changes follow after position {next_after}."]
    return "\n".join(lines)


def _title(changeset: Changeset) -> str:
    counts = ", ".join(f"{count} {state}" for state, count in sorted(changeset.change_counts.items()))
    return f"changeset {changeset.changeset_id} ({changeset.purpose}, {changeset.state}): {counts or 'empty'}"


def _lines(change: ChangeDiff) -> list[str]:
    """A change as lines of text, each with its mark: space, minus, plus or number sign."""
    lines = [
        f"# {change.kind} {change.memory_id} ({change.state}, change {change.change_id})",
        f"  {one_line(change.content)}",
    ]
    for field, value in change.after.items():
        if field in change.before:
            lines.append(f"- {field}: {_shown(change.before[field])}")
        lines.append(f"+ {field}: {_shown(value)}")
    if change.relationship is not None:
        lines.append(f"+ {change.relationship} {change.other_id}")
    if change.other_content is not None:
        lines.append(f"  → {one_line(change.other_content)}")
    return [*lines, f"  because: {one_line(change.reason)}"]


def _diff(row: Row, before: MemoryRecord | None, contents: Mapping[UUID, str]) -> ChangeDiff:
    fields: dict[str, Any] = row["fields"]
    known = [field for field in fields if field in VERSIONED_FIELDS]
    old = as_json({field: getattr(before, field) for field in known}) if before is not None else {}
    changed = {field: value for field, value in fields.items() if field not in old or old[field] != value}
    other_id = _other_id(row)
    other_content = contents.get(other_id) if other_id is not None else None
    return ChangeDiff(
        change_id=row["change_id"],
        memory_id=row["memory_id"],
        kind=row["kind"],
        state=row["state"],
        reason=row["reason"],
        content=shortened(row["content"], CONTENT_SHOWN_CHARACTERS),
        before={field: old[field] for field in changed if field in old},
        after=changed,
        other_id=other_id,
        other_content=shortened(other_content, CONTENT_SHOWN_CHARACTERS)
        if other_content is not None
        else None,
        relationship=row["relationship"],
        evidence=tuple(row["evidence"]),
        signals=row["signals"],
    )


def _other_id(row: Row) -> UUID | None:
    """The memory that replaces the changed one, or to which it is related."""
    for field in ("superseded_by", "merged_into"):
        try:
            return UUID(row["fields"][field])
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # Not set, or no id: an imported changeset could hold anything.
    related_id: UUID | None = row["related_id"]
    return related_id


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else one_line(str(value))
