"""Memories over a test's database."""

from mnemic.config import Settings
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.models.embedding import EmbedderSpec
from mnemic.runtime.storage import Storage
from mnemic.sdk.memory import AsyncMemory


def opened(
    database: Database,
    tenant: Tenant,
    *,
    owner: str | None = "alice",
    channel: str = "_global",
    process: str = "sdk",
    embedder: EmbedderSpec | None = None,
) -> AsyncMemory:
    """A memory in this database; closing it is the database's own business."""
    memory = AsyncMemory(
        owner=owner,
        channel=channel,
        process=process,
        embedder=embedder,
        settings=Settings(tenant=tenant.name),
    )
    memory._core._storage = Storage(database, tenant, server=None)
    return memory
