"""A tenant that sends many and long texts to a server takes nobody else's turn at the embedding process."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from mnemic.config import Settings
from mnemic.db.database import Database
from mnemic.embeddings.backlog import embed_rows
from mnemic.errors import EmbedderBusyError
from mnemic.models.embedding import EmbeddingTimeouts, TextEmbedder
from mnemic.models.local import MiniLM
from mnemic.runtime import fair_slots
from mnemic.runtime.fair_slots import FairSlots
from mnemic.runtime.storage import Storage
from mnemic.sdk.tenants import Tenants

HOSTILE, HONEST = uuid4(), uuid4()
LONG = "Who said what to whom about the harbour and its fog, and when did they say so? " * 25
FLOOD = 40
LONG_FLOOD = 200
"""More than may wait for a turn: the others are searched without a vector, on however fast a machine."""


@pytest.fixture
async def engine() -> AsyncIterator[MiniLM]:
    engine = MiniLM(process_environment={})
    yield engine
    await engine.aclose()


async def test_a_flood_delays_others_by_a_turn(engine: MiniLM) -> None:
    turns = FairSlots(1, what="texts")
    embedder = TextEmbedder(engine, owned=False, timeouts=EmbeddingTimeouts(60, 60))
    hostile = embedder.in_turns(lambda: turns.slot(HOSTILE))
    honest = embedder.in_turns(lambda: turns.slot(HONEST))
    await hostile.embed_query(LONG)
    flood = [asyncio.create_task(hostile.embed_query(f"{number} {LONG}")) for number in range(FLOOD)]
    await asyncio.sleep(0)
    await honest.embed_documents([LONG])
    assert sum(task.done() for task in flood) <= 3
    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)


async def test_waiting_for_a_turn_makes_no_model_look_broken(
    engine: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair_slots, "WAITING_MAX", 2)
    turns = FairSlots(1, what="texts")
    impatient = TextEmbedder(engine, owned=False, timeouts=EmbeddingTimeouts(0.01, 0.01)).in_turns(
        lambda: turns.slot(HOSTILE)
    )
    row = {"name": None, "content": LONG, "context": ""}
    async with turns.slot(HONEST):
        for _ in range(2):
            with pytest.raises(EmbedderBusyError, match=r"waited for 0\.01 s"):
                await impatient.embed_documents([LONG, LONG])
        with pytest.raises(EmbedderBusyError):
            # The texts are not to blame: refused texts would be given up.
            await embed_rows(impatient, [row, row])
    patient = TextEmbedder(engine, owned=False, timeouts=EmbeddingTimeouts(60, 60)).in_turns(
        lambda: turns.slot(HOSTILE)
    )
    async with turns.slot(HOSTILE):
        waiting = asyncio.create_task(patient.embed_query(LONG))
        await asyncio.sleep(0)
        with pytest.raises(EmbedderBusyError, match="too many"):
            await patient.embed_query(LONG)
    await waiting


async def test_long_questions_of_one_tenant_cost_no_other_its_vectors(shared_database: Database) -> None:
    """Without turns, those that wait time out, and a model that timed out is called for nobody."""
    tenant = await shared_database.open_tenant(f"tenant {uuid4()}")
    settings = Settings(query_embedding_timeout_s=1.0)
    storage = Storage(shared_database, tenant, server=None)
    async with Tenants(settings, embedder="local", storage=storage, has_embedding_process=True) as tenants:
        hostile, honest = [(await tenants.memory(f"tenant {uuid4()}")).scope(owner="alice") for _ in range(2)]
        await honest.retain("Alice lives in Berlin.")
        # The process starts.
        await hostile.retain(LONG)
        flood = [asyncio.create_task(hostile.recall(f"{number} {LONG}")) for number in range(LONG_FLOOD)]
        answers = [await honest.recall(f"Where does Alice live, {number}?") for number in range(FLOOD)]
        late = [note for recalled in await asyncio.gather(*flood) for note in recalled.notes]
        answers.append(await honest.recall("Where does Alice live?"))
        assert [note for answer in answers for note in answer.notes] == []
        assert any("busy with other texts" in note for note in late)
