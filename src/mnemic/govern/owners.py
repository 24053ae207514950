"""List owners, and count what a tenant holds."""

from mnemic.db.database import TenantDatabase
from mnemic.types.page import check_limit
from mnemic.types.scope import check_name
from mnemic.types.stats import TenantStats


async def list_owners(database: TenantDatabase, *, after: str, limit: int) -> list[str]:
    """Owners that have memories, by name."""
    parameters = {
        "after": check_name("after", after) if after != "" else "",
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        rows = await transaction.rows("owners.list", parameters)
    return [row["owner"] for row in rows]


async def read_stats(database: TenantDatabase) -> TenantStats:
    """Counts of what the tenant holds."""
    async with database.transaction() as transaction:
        return TenantStats(**await transaction.one("admin.stats"))


async def count_backlog(database: TenantDatabase) -> int:
    """Number of memories in the embedding backlog of the tenant."""
    async with database.transaction() as transaction:
        return int((await transaction.one("vectors.backlog_size"))["waiting"])
