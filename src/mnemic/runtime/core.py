"""The core: what a memory, its scoped views and its groups share."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from mnemic.config import Settings
from mnemic.db.database import TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import ClosedError
from mnemic.events.signal import EventSignal
from mnemic.jobs.scheduler import tick
from mnemic.models.embedding import TextEmbedder
from mnemic.models.language import LanguageModel
from mnemic.models.reranking import Reranker
from mnemic.runtime.background_tasks import BackgroundTasks
from mnemic.runtime.call_metrics import CallMetrics, MeasuredCall, Operation
from mnemic.runtime.default_schedules import give_default_schedules
from mnemic.runtime.fair_slots import FairSlots
from mnemic.runtime.hourly_metrics import HourlyMetrics, PastGrowth
from mnemic.runtime.in_process_worker import InProcessWorker
from mnemic.runtime.job_types import JobTable
from mnemic.runtime.models_in_use import Models
from mnemic.runtime.recall_counts import RecallCounts
from mnemic.runtime.recent_tenants import RecentTenants
from mnemic.runtime.spend_ledger import DatabaseSpendLedger
from mnemic.runtime.storage import Storage, open_storage
from mnemic.types.scope import Scope

RECALL_COUNTS = ("recall counts",)
HOURLY_METRICS = ("hourly metrics",)


class Core:
    """What a memory and all its scoped views share. States: new → open → closed."""

    def __init__(
        self, settings: Settings, models: Models, jobs: JobTable, *, storage: Storage | None = None
    ) -> None:
        """With `storage` the core is open at once, and closing it leaves the storage open."""
        self.settings = settings
        self.models = models
        self.jobs = jobs
        self.background_tasks = BackgroundTasks()
        self.recall_counts = RecallCounts()
        self.call_metrics = CallMetrics()
        self.hourly_metrics = HourlyMetrics(self._request_hourly_metrics)
        self.in_process_worker = InProcessWorker(jobs.handlers(self._itself), (tick, *jobs.periodic))
        self.serving_model: str | None = None
        """The serving embedding model, as far as this process knows (see `serving_model.py`)."""
        self.event_signal = EventSignal()
        self.recent_tenants = RecentTenants()
        self.reading_slots = FairSlots(
            settings.document_processes, what="documents", rests=self.recent_tenants.has_others
        )
        self.embedding_turns = FairSlots(1, what="texts")
        self.background_tasks.on_close(RECALL_COUNTS, self.write_recalled_counts)
        self.background_tasks.on_close(HOURLY_METRICS, self.write_hourly_metrics)
        self.past_growth: PastGrowth | None = None
        self._storage = storage
        self._owns_storage = storage is None
        self._is_guest = False
        self._closed = False
        self._opening = asyncio.Lock()

    @property
    def embedder(self) -> TextEmbedder:
        """The configured embedder, loaded when it is first needed."""
        return self.models.embedder

    @cached_property
    def language_model(self) -> LanguageModel | None:
        """The configured LLM, if any, whose calls are counted in the spend ledger of the tenant."""
        return self.models.metered_language_model(self.spend_ledger)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The configured reranker, if any; calls of an LLM are counted in the spend ledger."""
        return self.models.metered_reranker(self.spend_ledger)

    @property
    def spend_ledger(self) -> DatabaseSpendLedger:
        """The spend ledger of the tenant."""
        return DatabaseSpendLedger(
            lambda: self.storage.tenant_database,
            self.call_metrics.model_calls,
            operator_cap=self.settings.spend_cap_usd_per_day,
            count_call=self.hourly_metrics.count_model_call,
        )

    @property
    def storage(self) -> Storage:
        """The open storage; ClosedError unless the memory is open."""
        if self._closed:
            raise ClosedError("This Memory is closed. Open a new one.")
        if self._storage is None:
            raise ClosedError("This AsyncMemory is not open yet. Use `async with`, or await its open().")
        return self._storage

    @property
    def tenant(self) -> Tenant:
        """The tenant of the open storage."""
        return self.storage.tenant

    async def open(self) -> None:
        """Open the storage, once."""
        async with self._opening:
            if self._closed:
                raise ClosedError("This Memory is closed. Open a new one.")
            if self._storage is None:
                self.models.check()
                self._storage = await self._open_storage()

    def beside(self, tenant: Tenant) -> "Core":
        """A core for another tenant on the same storage and models. Close it before this one."""
        settings = self.settings.model_copy(update={"tenant": tenant.name})
        guest = Core(settings, self.models, self.jobs, storage=replace(self.storage, tenant=tenant))
        guest._is_guest = True
        guest.call_metrics = self.call_metrics
        guest.event_signal = self.event_signal
        guest.recent_tenants = self.recent_tenants
        guest.reading_slots = self.reading_slots
        guest.embedding_turns = self.embedding_turns
        return guest

    @asynccontextmanager
    async def closed_for_a_while(self) -> AsyncIterator[None]:
        """Close the storage during a block that needs exclusive access, and always open it again."""
        storage = self.storage
        async with self._opening:
            was_watching = self.in_process_worker.is_watching
            await self.in_process_worker.aclose()
            await self.background_tasks.settle()
            self._storage = None
            await self.event_signal.aclose()
            await storage.aclose()
            try:
                yield
            finally:
                self._storage = await self._open_storage()
                if was_watching:
                    self.in_process_worker.watch(self._storage.database, self._storage.tenant)

    async def aclose(self) -> None:
        """Close the storage for good."""
        async with self._opening:
            # First, since jobs and background tasks need the storage.
            await self.in_process_worker.aclose()
            await self.background_tasks.aclose()
            self.hourly_metrics.close()
            storage, self._storage, self._closed = self._storage, None, True
            if self._is_guest:
                return
            await self.event_signal.aclose()
            await self.models.aclose()
            if storage is not None and self._owns_storage:
                await storage.aclose()

    async def _open_storage(self) -> Storage:
        storage = await open_storage(self.settings)
        try:
            await give_default_schedules(storage.tenant_database, self.jobs)
        except BaseException:
            await storage.aclose()
            raise
        return storage

    async def _itself(self, tenant: Tenant) -> "Core":
        """The core of the tenant of every job that the in-process worker claims: this one."""
        return self

    async def write_recalled_counts(self) -> int:
        """Write the recall counts since the last time; returns the number of memories."""
        return await self.recall_counts.write(self.storage.tenant_database)

    @contextmanager
    def measured_call(self, operation: Operation) -> Iterator[MeasuredCall]:
        """Measure a block and count its result, in this process and in the hourly metrics of the tenant."""
        call = None
        self.recent_tenants.note(self.tenant.id)
        try:
            with self.call_metrics.call(operation) as call:
                yield call
        finally:
            if call is not None and call.is_recorded:
                self.hourly_metrics.count_call(operation, call)

    async def write_hourly_metrics(self) -> int:
        """Write the hourly metrics of this process since the last time; returns the number of rows."""
        return await self.hourly_metrics.write(self.storage.tenant_database) if self.hourly_metrics else 0

    def _request_hourly_metrics(self) -> bool:
        return self.background_tasks.request(HOURLY_METRICS, self.write_hourly_metrics)


@dataclass(frozen=True)
class Caller:
    """What every call needs: the open memory and the scope that it is used in."""

    core: Core
    scope: Scope

    @property
    def database(self) -> TenantDatabase:
        """The database as this memory's tenant sees it."""
        return self.core.storage.tenant_database

    def scoped(self, owner: str | None = None, channel: str | None = None) -> Scope:
        """The scope of one call: the defaults, overridden by its arguments; it must have an owner."""
        is_named = owner is not None or channel is not None
        scope = self.scope.narrowed(owner=owner, channel=channel) if is_named else self.scope
        scope.require_owner()
        return scope
