"""Consolidation by a language model under a spend cap: the job is parked, and runs when the cap allows it."""

import asyncio
from decimal import Decimal

import pytest

from mnemic.consolidation.jobs import CONSOLIDATE_JOB
from mnemic.db.database import Database
from mnemic.errors import SpendCapError
from mnemic.sdk.tenants import Tenants
from mnemic.types.job import Job
from mnemic.types.scope import Scope
from tests.extraction.facts_model import FactsModel, fact
from tests.fresh_tenants import OpenMemory
from tests.jobs.watching import until
from tests.opened import core_of


async def test_a_cap_parks_the_job_and_raising_it_wakes_it(
    open_memory: OpenMemory, shared_database: Database
) -> None:
    model = FactsModel([fact(1, "I live in Oslo")])
    memory = await open_memory(llm=model, settings={"extractor": "llm"})
    tenant = memory._in_scope(Scope(None, "_global", "test"))
    await memory.retain({"role": "user", "content": "I live in Oslo"}, conversation="c")
    await tenant.spend.set_cap(0)
    with pytest.raises(SpendCapError):
        await memory.consolidate()

    storage = core_of(memory).storage
    tenants = Tenants(core_of(memory).settings, embedder="test", llm=model, storage=storage)
    async with tenants:
        worker = tenants.worker(only_tenant=memory.tenant)
        task = asyncio.create_task(worker.run())
        try:
            job_id = (await memory.jobs.enqueue(CONSOLIDATE_JOB, max_attempts=1)).job_id

            def is_parked(job: Job) -> bool:
                return job.state == "scheduled" and bool(job.history)

            parked = await until(memory, job_id, is_parked)
            assert parked.history[0].error is not None
            assert "There is a spend cap" in parked.history[0].error.message
            assert model.documents == []
            await tenant.spend.set_price("function:scripted", input_usd=0, output_usd=0)
            done = await memory.jobs.wait(job_id)
        finally:
            worker.stop(grace_s=0)
            await task
    assert (done.state, len(model.documents)) == ("done", 1)
    assert [each.statement for each in await memory.statements.list()] == ["The user lives in Oslo."]
    (line,) = await tenant.spend.summary()
    assert (line.purpose, line.call_count, line.usd) == ("extraction", 1, Decimal(0))
