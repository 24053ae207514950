"""Fixtures for jobs: workers that run in the event loop of the test, and stop with it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest

from mnemic.db.database import Database
from mnemic.jobs.handlers import Handler
from mnemic.jobs.worker import Worker
from tests.two_tenants import foreign_memory, memory  # noqa: F401 (fixtures)

StartWorker = Callable[..., Awaitable[Worker]]


@pytest.fixture
async def start_worker(database: Database) -> AsyncIterator[StartWorker]:
    """Starts a worker of the test's database with some handlers; it works when this returns."""
    tasks: list[tuple[Worker, asyncio.Task[None]]] = []

    async def start(handlers: Mapping[str, Handler], **options: Any) -> Worker:
        worker = Worker(database, handlers, **options)
        tasks.append((worker, asyncio.create_task(worker.run())))
        await worker.ready()
        return worker

    yield start
    for worker, task in tasks:
        worker.stop(grace_s=0)
        await task
