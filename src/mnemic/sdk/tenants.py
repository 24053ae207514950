"""One open place for many tenants: what a server and a worker stand on.

Every tenant gets a memory of its own over the same connections and models. They are kept, at most
`TENANTS_MAX` of them; the one not asked for longest makes room, after what it counted was written.
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
from mnemic.runtime.workers import tenants_worker
from mnemic.sdk.job_table import JOBS
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import Scope

TENANTS_MAX = 1_000


class Tenants:
    """Memories of all tenants of one place.

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
    ) -> None:
        self.settings = settings
        self._host = Core(settings, Models(settings, embedder, llm, reranker), JOBS)
        self._guests: OrderedDict[str, Core] = OrderedDict()
        self._choosing = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Open the place."""
        await self._host.open()
        return self

    async def __aexit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the memories, then the place."""
        async with self._choosing:
            while self._guests:
                _, guest = self._guests.popitem()
                await guest.aclose()
        await self._host.aclose()

    @property
    def database(self) -> Database:
        """The database of all of them."""
        return self._host.storage.database

    @property
    def call_metrics(self) -> CallMetrics:
        """How long the calls of all of them took, in this process."""
        return self._host.call_metrics

    async def core(self, tenant: str | Tenant) -> Core:
        """What the memory of a tenant is made of. A tenant is named, or is one that was found before."""
        name = tenant.name if isinstance(tenant, Tenant) else tenant
        async with self._choosing:
            if name not in self._guests:
                found = tenant if isinstance(tenant, Tenant) else await self.database.open_tenant(name)
                await give_default_schedules(TenantDatabase(self.database, found), JOBS)
                self._guests[name] = self._host.beside(found)
            self._guests.move_to_end(name)
            if len(self._guests) > TENANTS_MAX:
                _, oldest = self._guests.popitem(last=False)
                # Not closed: a call may be under way in it.
                await oldest.background_tasks.settle()
            return self._guests[name]

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
        """The memory of a tenant, as long as this place is open; it has no owner until a scope names one.

        `key_id` and `request_id` say for the audit log by which API key and in which request it is used.
        """
        core = await self.core(tenant)
        settings = core.settings
        scope = Scope(None, settings.channel, process or settings.process, key_id, request_id)
        return AsyncMemory._view(core, scope)
