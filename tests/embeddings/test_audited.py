"""A model change is one audited act: the call writes the intent, the job the outcome."""

import pytest

from mnemic.errors import EmbeddingError
from mnemic.runtime.job_waiting import finish_job
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import Scope
from mnemic.types.traces import AuditRecord
from tests.embeddings.models import Watched
from tests.fresh_tenants import OpenMemory
from tests.opened import core_of


async def acts(memory: AsyncMemory) -> list[AuditRecord]:
    """What the tenant's log says, oldest first."""
    view = memory._in_scope(Scope(None, "_global", "tests"))
    return list(await view.audit.list())[::-1]


async def opened_anew(open_memory: OpenMemory, old: Watched, new: Watched) -> AsyncMemory:
    """A memory that has vectors of the old model, opened with the new one."""
    memory = await open_memory(embedder=old)
    await memory.retain(["one fact", "another fact"])
    return await open_memory(memory.tenant.name, embedder=new)


async def test_a_change_is_an_act_that_ends_with_the_switch(
    open_memory: OpenMemory, old: Watched, new: Watched
) -> None:
    memory = await opened_anew(open_memory, old, new)
    await memory.admin.reembed()
    (intent,) = await acts(memory)
    assert (intent.phase, intent.action, intent.target, intent.owner) == (
        "intent",
        "change_model",
        new.name,
        None,
    )
    assert intent.detail == {"model": old.name, "next_model": None}
    assert (await memory.admin.reembed(wait=True)).model == new.name
    first, outcome = await acts(memory)
    assert first == intent
    assert (outcome.phase, outcome.intent_id) == ("succeeded", intent.audit_id)
    assert outcome.detail == {"memory_count": 2}
    await memory.admin.reembed()
    assert len(await acts(memory)) == 2, "nothing was left to do"


async def test_a_change_that_is_called_off_has_failed(
    open_memory: OpenMemory, old: Watched, new: Watched
) -> None:
    memory = await opened_anew(open_memory, old, new)
    begun = await memory.admin.reembed()
    back = await open_memory(memory.tenant.name, embedder=old)
    await back.admin.reembed()
    asked, calling_off, called_off = await acts(memory)
    assert (calling_off.target, calling_off.detail) == (old.name, {"model": old.name, "next_model": new.name})
    assert (called_off.phase, called_off.intent_id) == ("succeeded", calling_off.audit_id)
    assert begun.job_id is not None
    await finish_job(core_of(memory), begun.job_id)
    *_, outcome = await acts(memory)
    assert (outcome.phase, outcome.intent_id, outcome.detail) == (
        "failed",
        asked.audit_id,
        {"error": "called off"},
    )


async def test_a_change_that_cannot_begin_has_failed(
    open_memory: OpenMemory, old: Watched, new: Watched
) -> None:
    memory = await opened_anew(open_memory, old, new)
    new.failing = True
    with pytest.raises(EmbeddingError):
        await memory.admin.reembed()
    intent, outcome = await acts(memory)
    assert (outcome.phase, outcome.intent_id) == ("failed", intent.audit_id)
    assert outcome.detail == {"error": "EmbeddingError"}


async def test_the_first_model_of_a_tenant_serves_at_once(open_memory: OpenMemory, new: Watched) -> None:
    memory = await open_memory(embedder=new)
    assert (await memory.admin.reembed()).model == new.name
    intent, outcome = await acts(memory)
    assert (intent.detail, outcome.phase) == ({"model": None, "next_model": None}, "succeeded")
