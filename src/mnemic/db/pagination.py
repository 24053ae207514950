"""Keyset pagination of lists, newest rows first.

A query file with such a list has two queries: `cursor` returns the sort key of the row with the id
`before`, as `before_at` and `before_id`; `list` returns the rows after it. So the id of a page's last
row is the cursor of the next page, and rows added in between do not shift the pages.
"""

from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Parameters, TenantDatabase
from mnemic.errors import NotFoundError
from mnemic.types.checks import check_id
from mnemic.types.page import check_limit


async def newest_first(
    database: TenantDatabase, queries: str, parameters: Parameters, *, before: UUID | str | None, limit: int
) -> list[Row]:
    """One page of the list in the file `queries`; NotFoundError if the row `before` is not in it."""
    checked = {**parameters, "limit": check_limit(limit), "before_at": None, "before_id": None}
    if before is not None:
        checked["before"] = check_id("before", before)
    async with database.transaction() as transaction:
        if before is not None:
            cursor = await transaction.first(f"{queries}.cursor", checked)
            if cursor is None:
                raise NotFoundError(
                    f"before: {before} is not in this list. Pass the id of a row of this list."
                )
            checked |= cursor
        return await transaction.rows(f"{queries}.list", checked)
