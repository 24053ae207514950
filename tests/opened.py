"""Memories on the database of a test."""

from typing import Any

from mnemic.config import load_settings
from mnemic.db.database import Database
from mnemic.db.tenancy import Tenant
from mnemic.models.embedding import EmbedderSpec
from mnemic.models.language import LanguageModelSpec
from mnemic.models.reranking import RerankerSpec
from mnemic.runtime.core import Core
from mnemic.runtime.models_in_use import Models
from mnemic.runtime.storage import Storage
from mnemic.sdk.job_table import JOBS
from mnemic.sdk.memory import AsyncMemory, memory_on_core
from mnemic.types.scope import Scope


def opened(
    database: Database,
    tenant: Tenant,
    *,
    owner: str | None = "alice",
    channel: str = "_global",
    process: str = "sdk",
    embedder: EmbedderSpec | None = None,
    llm: LanguageModelSpec | None = None,
    reranker: RerankerSpec | None = None,
    settings: dict[str, Any] | None = None,
) -> AsyncMemory:
    """An open memory on this database. Closing the memory leaves the database open."""
    loaded = load_settings(tenant=tenant.name, **settings or {})
    models = Models(loaded, embedder, llm, reranker)
    core = Core(loaded, models, JOBS, storage=Storage(database, tenant, server=None))
    return memory_on_core(core, Scope(owner, channel, process), owns_core=True)


def core_of(memory: AsyncMemory) -> Core:
    """What a memory is made of, for functions below it: handlers of jobs, and steps that a test interrupts.

    A test of what users see calls the memory instead.
    """
    return memory._core
