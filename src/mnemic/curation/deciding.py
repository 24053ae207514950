"""Decide about changesets: approve, reject, apply and undo; and policies that apply proposals without asking.

Applying and undoing are audited. A changeset that was applied for another purpose, such as a contradiction or
the daily cleanup, is undone the same way.
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import replace
from itertools import islice
from typing import Literal
from uuid import UUID

from mnemic.curation.proposing import propose
from mnemic.curation.resolving import wait_again
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ChangeConflictError, InvalidInputError
from mnemic.govern.audit import audited
from mnemic.record import changesets
from mnemic.record.change_log import read_changeset
from mnemic.types.changeset import Changeset
from mnemic.types.checks import check_choice, check_flag, check_id
from mnemic.types.curation import CURATION_KINDS, CurationKind, CurationRun
from mnemic.types.scope import Scope

logger = logging.getLogger(__name__)

Act = Literal["apply_changeset", "undo_changeset"]


async def propose_and_apply(
    database: TenantDatabase,
    scope: Scope,
    *,
    kinds: Collection[str],
    limit: int,
    dry_run: bool,
    automatic_kinds: Collection[str] = (),
) -> CurationRun:
    """Propose changes, and apply those of kinds that the owner's policy or the caller makes automatic."""
    run = await propose(database, scope, kinds=kinds, limit=limit, dry_run=dry_run)
    if run.changeset_id is None:
        return run
    policies = await read_policies(database, scope)
    automatic = {kind for kind, is_automatic in policies.items() if is_automatic} | set(automatic_kinds)
    change_ids = [change.change_id for change in run.changes if change.kind in automatic]
    if not change_ids:
        return run
    try:
        await apply(database, scope, run.changeset_id, change_ids)
    except ChangeConflictError as error:
        logger.warning("Proposals of the curator stay staged: %s", error)
        return replace(run, notes=(*run.notes, str(error)))
    return replace(run, applied_count=len(change_ids))


async def approve(
    database: TenantDatabase, scope: Scope, changeset_id: UUID, change_ids: Collection[UUID] | None
) -> Changeset:
    """Approve staged changes, all or some."""
    owner = scope.require_owner()

    async def work(transaction: Transaction) -> Changeset:
        await changesets.approve(transaction, owner, changeset_id, change_ids=change_ids)
        return await read_changeset(transaction, owner, changeset_id)

    return await database.run(work)


async def reject(
    database: TenantDatabase, scope: Scope, changeset_id: UUID, change_ids: Collection[UUID] | None
) -> Changeset:
    """Reject open changes, all or some."""
    owner = scope.require_owner()

    async def work(transaction: Transaction) -> Changeset:
        await changesets.reject(transaction, owner, changeset_id, change_ids=change_ids)
        return await read_changeset(transaction, owner, changeset_id)

    return await database.run(work)


async def apply(
    database: TenantDatabase, scope: Scope, changeset_id: UUID, change_ids: Collection[UUID] | None
) -> Changeset:
    """Apply the approved changes, or those that are named, in one transaction."""
    owner = scope.require_owner()

    async def work(transaction: Transaction) -> int:
        chosen = change_ids
        if chosen is None:
            chosen = await changesets.approved_ids(transaction, owner, changeset_id)
            if not chosen:
                raise InvalidInputError(
                    f"No change of the changeset {changeset_id} is approved: approve some first, or name "
                    "the changes to apply."
                )
        return len(await changesets.apply(transaction, owner, changeset_id, change_ids=chosen))

    return await _act(database, scope, "apply_changeset", changeset_id, work)


async def undo(
    database: TenantDatabase, scope: Scope, changeset_id: UUID, change_ids: Collection[UUID] | None
) -> Changeset:
    """Undo applied changes, or let rejected ones wait again, in one transaction."""
    owner = scope.require_owner()

    async def work(transaction: Transaction) -> int:
        undone = await changesets.undo(transaction, owner, changeset_id, change_ids=change_ids)
        changeset = await read_changeset(transaction, owner, changeset_id)
        if changeset.state == "undone":
            await wait_again(transaction, owner, changeset.details)
        return len(undone)

    return await _act(database, scope, "undo_changeset", changeset_id, work)


async def read_policies(database: TenantDatabase, scope: Scope) -> dict[str, bool]:
    """Whether proposals of each kind are applied without asking."""
    async with database.transaction() as transaction:
        rows = await transaction.rows("curation.policies", {"owner": scope.require_owner()})
    return dict.fromkeys(CURATION_KINDS, False) | {row["kind"]: row["is_automatic"] for row in rows}


async def set_policy(
    database: TenantDatabase, scope: Scope, kind: CurationKind, *, is_automatic: bool
) -> dict[str, bool]:
    """Let the curator apply proposals of a kind without asking, or not."""
    parameters = {
        "owner": scope.require_owner(),
        "kind": check_choice("kind", kind, CURATION_KINDS),
        "is_automatic": check_flag("automatic", is_automatic),
    }
    async with (
        audited(
            database, scope, action="set_curation_policy", target=kind, detail={"is_automatic": is_automatic}
        ) as act,
        database.transaction() as transaction,
    ):
        await transaction.execute("curation.set_policy", parameters)
        await act.commit_with(transaction)
    return await read_policies(database, scope)


def check_ids(given: Iterable[UUID | str] | None, field: str = "change_ids") -> list[UUID] | None:
    """Ids of changes or memories; None means all."""
    if given is None:
        return None
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InvalidInputError(f"{field} must be a list of ids, or None for all.")
    ids = list(islice(given, changesets.CHANGES_MAX + 1))
    return list(dict.fromkeys(check_id(field, each) for each in ids))


async def _act(
    database: TenantDatabase,
    scope: Scope,
    action: Act,
    changeset_id: UUID,
    work: Callable[[Transaction], Awaitable[int]],
) -> Changeset:
    """Do an audited act on a changeset; its outcome commits with the changes."""
    owner = scope.require_owner()
    async with audited(database, scope, action=action, target=str(changeset_id)) as act:

        async def commit(transaction: Transaction) -> Changeset:
            act.outcome(change_count=await work(transaction))
            changeset = await read_changeset(transaction, owner, changeset_id)
            await act.commit_with(transaction)
            return changeset

        return await database.run(commit)
