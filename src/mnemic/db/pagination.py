"""Lists that go from the newest row back, a page at a time.

A query file with such a list holds two queries: `place` says where the row with the id `before`
stands, as `before_at` and `before_id`; `list` gives the rows behind that place. The id of a page's
last row is thus the cursor of the next page, and rows that are added meanwhile shift nothing.
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
            place = await transaction.first(f"{queries}.place", checked)
            if place is None:
                raise NotFoundError(
                    f"before: {before} is not in this list. Pass the id of a row that it gave."
                )
            checked |= place
        return await transaction.rows(f"{queries}.list", checked)
