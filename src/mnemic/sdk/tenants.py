"""Memories of many tenants on one open storage, for servers and workers.

Each tenant has a core of its own on the shared connections and models. At most `TENANTS_MAX` cores are
cached. The least recently used one is evicted after its pending counts are written.
"""

import asyncio
from collections import OrderedDict
from types import TracebackType
from typing import Self
from uuid import UUID

from mnemic.config import Settings
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.jobs.worker import DEFAULT_CONCURRENCY, Worker
from mnemic.models.embedding import EmbedderSpec
from mnemic.models.language import LanguageModelSpec
from mnemic.models.reranking import RerankerSpec
from mnemic.runtime.call_metrics import CallMetrics
from mnemic.runtime.core import Core
from mnemic.runtime.default_schedules import give_default_schedules
from mnemic.runtime.models_in_use import Models
from mnemic.runtime.storage import Storage
from mnemic.runtime.workers import tenants_worker
from mnemic.sdk.job_table import JOBS
from mnemic.sdk.memory import AsyncMemory, memory_on_core
from mnemic.types.scope import Scope

TENANTS_MAX = 1_000


class Tenants:
    """Opens memories of any tenant on one storage.

    >>> async with Tenants(settings) as tenants:
    ...     memory = await tenants.memory("acme")
    """

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: EmbedderSpec | None = None,
        llm: LanguageModelSpec | None = None,
        reranker: RerankerSpec | None = None,
        storage: Storage | None = None,
        has_embedding_process: bool = False,
    ) -> None:
        """`has_embedding_process`: embed many and long texts in a process of its own, as servers do.

        `storage` is a storage that is already open; closing the tenants leaves it open.
        """
        self.settings = settings
        models = Models(settings, embedder, llm, reranker, has_embedding_process=has_embedding_process)
        self._host = Core(settings, models, JOBS, storage=storage)
        self._cores: OrderedDict[str, Core] = OrderedDict()
        self._lock = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Open the storage."""
        await self._host.open()
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the cores of all tenants, then the storage."""
        async with self._lock:
            while self._cores:
                _, core = self._cores.popitem()
                await core.aclose()
        await self._host.aclose()

    @property
    def database(self) -> Database:
        """The shared database."""
        return self._host.storage.database

    @property
    def call_metrics(self) -> CallMetrics:
        """Latencies of the calls of all tenants, in this process."""
        return self._host.call_metrics

    async def core(self, tenant: str | Tenant) -> Core:
        """Return the core of a tenant, given by its name or as a `Tenant`."""
        name = tenant.name if isinstance(tenant, Tenant) else tenant
        async with self._lock:
            if name not in self._cores:
                found = tenant if isinstance(tenant, Tenant) else await self.database.open_tenant(name)
                await give_default_schedules(TenantDatabase(self.database, found), JOBS)
                self._cores[name] = self._host.beside(found)
            self._cores.move_to_end(name)
            if len(self._cores) > TENANTS_MAX:
                _, oldest = self._cores.popitem(last=False)
                # Not closed, because a call may still be using it.
                await oldest.background_tasks.settle()
            return self._cores[name]

    def worker(self, *, concurrency: int = DEFAULT_CONCURRENCY, only_tenant: Tenant | None = None) -> Worker:
        """A worker for the jobs of all tenants, or of one; the caller runs and stops it."""
        return tenants_worker(
            self.database, self.core, JOBS, concurrency=concurrency, only_tenant=only_tenant
        )

    async def memory(
        self,
        tenant: str | Tenant,
        *,
        process: str | None = None,
        key_id: UUID | None = None,
        request_id: str | None = None,
    ) -> AsyncMemory:
        """Return the memory of a tenant. It is usable while the storage is open, and has no default owner.

        `key_id` and `request_id` are written to the audit log: the API key and the request that use the
        memory.
        """
        core = await self.core(tenant)
        settings = core.settings
        scope = Scope(None, settings.channel, process or settings.process, key_id, request_id)
        return memory_on_core(core, scope)
