"""Drop a branch: delete everything that was stored in it, for good.

Dropping leaves nothing but two rows of the audit log: the act and the row counts, under the id of the receipt
and without the name of the branch. The database finds the tables (`mnemic.drop_branch`).
"""

from datetime import UTC, datetime

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, NotFoundError
from mnemic.govern.audit import audited
from mnemic.types.branch import BranchReceipt
from mnemic.types.identity import new_id
from mnemic.types.scope import Scope, check_name


async def drop_branch(database: TenantDatabase, scope: Scope, channel: str) -> BranchReceipt:
    """Drop a branch; ConflictError while it has open branches of its own."""
    parameters = {"owner": scope.require_owner(), "channel": check_name("channel", channel)}
    async with database.transaction() as transaction:
        await _check_droppable(transaction, parameters)
    receipt_id = new_id()
    async with audited(
        database, scope, action="drop_branch", target=str(receipt_id), keeps_message=False
    ) as act:

        async def work(transaction: Transaction) -> dict[str, int]:
            await transaction.extend_timeout()
            await transaction.execute("branches.hold_owner", parameters)
            await transaction.execute("branches.hold", parameters)
            await _check_droppable(transaction, parameters)
            rows = await transaction.rows("branches.drop", parameters)
            counts = {row["table_name"]: row["row_count"] for row in rows}
            act.outcome(rows=counts)
            await act.commit_with(transaction)
            return counts

        counts = await database.run(work, maintenance=True)
    return BranchReceipt(receipt_id, counts, datetime.now(UTC))


async def _check_droppable(transaction: Transaction, parameters: dict[str, str]) -> None:
    branch = await transaction.first("branches.get", parameters)
    if branch is None:
        raise NotFoundError(f"There is no branch {parameters['channel']!r}. Only branches can be dropped.")
    if branch["children"]:
        raise ConflictError(
            f"The branch {branch['channel']!r} has branches itself: merge or drop "
            f"{', '.join(map(repr, branch['children']))} first."
        )
