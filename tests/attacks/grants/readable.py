"""What a recall may read through grants."""

from mnemic.govern.shares import readable_grants
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.share import ReadableGrant
from tests.opened import core_of


async def readable(memory: AsyncMemory, reader: str) -> list[ReadableGrant]:
    """The grants that let an owner recall now."""
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        return await readable_grants(transaction, reader)
