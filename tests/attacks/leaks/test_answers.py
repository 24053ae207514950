"""Readers of a grant try to learn something about the giver's other memories.

The tests are differential. A reader makes many calls and keeps the complete answers: hits, scores, every part
of `explain`, confidence, refusals, counts, notes, text. Then the giver stores *secrets*, memories that the
grant does not cover, chosen to disturb everything that recall computes: the words and names of the queries,
near vectors, neighbouring turns, entities, times. The same calls must then return the same answers.
"""

from statistics import fmean
from typing import Any

import pytest

from mnemic.db.database import Database
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.vector_index import INDEX_MIN_ROWS, build_index
from mnemic.recall.candidates.cosines import PRIOR_MEAN, PRIOR_MEMORIES
from mnemic.recall.index_maintenance import refresh_word_statistics
from mnemic.recall.ranking import WEIGHTS
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.recalled import Recalled
from tests.attacks.leaks.readers import (
    CHANNELS,
    GIVER,
    GRANTED,
    GRANTS,
    LONG_AGO,
    MARKED,
    READER,
    SECRETS,
    TOMORROW,
    UNMARKED,
    add_entities,
    answers,
    check_equal,
    give,
    keep_secrets,
    open_trip,
    store,
    why,
)
from tests.conftest import LIMITS, AppConnection
from tests.fresh_tenants import OpenMemory
from tests.many_vectors import clustered, give_vectors
from tests.opened import core_of

EXPIRE = (
    "UPDATE state.grants SET created_at = created_at - interval '1 h', expires_at = created_at"
    " WHERE grant_id = %s"
)


@pytest.mark.parametrize("kind", GRANTS)
async def test_answers_do_not_depend_on_what_a_grant_leaves_out(
    memory: AsyncMemory, subtests: pytest.Subtests, kind: str
) -> None:
    """The secrets have everything that granted memories have, except what the grant asks for."""
    await open_trip(memory)
    await give(memory, **GRANTS[kind])
    before = await answers(memory)
    assert sum(len(answer["hits"]) for answer in before.values()) > 100, "the grant lets memories in"
    await keep_secrets(memory, {**MARKED, kind: UNMARKED[kind]})
    check_equal(subtests, before, await answers(memory))


async def test_answers_do_not_depend_on_thousands_of_other_memories(
    memory: AsyncMemory,
    shared_database: Database,
    shared_database_name: str,
    server: EmbeddedServer,
    subtests: pytest.Subtests,
) -> None:
    """So many that the giver gets word statistics, a sample of vectors and a vector index."""
    await open_trip(memory)
    await give(memory, tags=["shared"])
    before = await answers(memory)
    await keep_secrets(memory, {**MARKED, "tags": ["private"]})
    filled = await give_vectors(shared_database, memory.tenant, GIVER, clustered(INDEX_MIN_ROWS + 1, seed=1))
    count = await refresh_word_statistics(core_of(memory), GIVER)
    admin = server.conninfo(user=ADMIN_ROLE, dbname=shared_database_name)
    assert await build_index(admin, LIMITS, filled.table, memory.tenant, GIVER, row_count=count)
    check_equal(subtests, before, await answers(memory))


async def test_a_grant_over_everything_tells_nothing_about_entities_and_forgotten_memories(
    memory: AsyncMemory, subtests: pytest.Subtests
) -> None:
    await open_trip(memory)
    await give(memory)
    before = await answers(memory)
    bob = memory.scope(owner=GIVER)
    for memory_id in await store(memory, GIVER, SECRETS, MARKED):
        await bob.memories.forget(memory_id)
    await add_entities(bob)
    check_equal(subtests, before, await answers(memory))


@pytest.mark.parametrize("state", ["offered", "dropped", "revoked", "expired"])
async def test_a_grant_that_is_not_active_tells_nothing(
    memory: AsyncMemory, superuser: AppConnection, subtests: pytest.Subtests, state: str
) -> None:
    await memory.retain("My tractor is green.", owner=READER, at=LONG_AGO)
    before = await answers(memory)
    await store(memory, GIVER, GRANTED, MARKED)
    for scope in [{}, *GRANTS.values()]:
        offered = await memory.shares.grant(READER, owner=GIVER, expires_at=TOMORROW, **scope)
        if state == "offered":
            continue
        await memory.shares.accept(offered.grant_id, owner=READER)
        if state == "dropped":
            await memory.shares.drop(offered.grant_id, owner=READER)
        elif state == "revoked":
            await memory.shares.revoke(offered.grant_id, owner=GIVER)
        else:
            superuser.execute(EXPIRE, [offered.grant_id])
    check_equal(subtests, before, await answers(memory))


async def test_a_grant_that_covers_nothing_does_not_tell_whether_there_is_anything_else(
    memory: AsyncMemory, subtests: pytest.Subtests
) -> None:
    """The reader has no memories either, so that the reason of the refusal is all there is."""
    await give(memory, tags=["shared"])
    before = await answers(memory)
    await keep_secrets(memory, UNMARKED)
    check_equal(subtests, before, await answers(memory))


async def test_cosines_of_other_memories_cannot_be_computed_from_scores(
    open_memory: OpenMemory, subtests: pytest.Subtests
) -> None:
    """`explain` shows cosines and standard scores: two hits give the mean and the deviation behind them.

    The mean of all four memories, minus the three known cosines, would be the cosine of the secret.
    """
    memory = await open_memory(embedder="local")
    await store(memory, GIVER, GRANTED[:3], MARKED)
    await give(memory, channel="trip")
    await store(memory, GIVER, SECRETS[1:2], {**MARKED, "channel": "diary"})
    for query in ("Is he ill?", "kidney stones", "Where do we sleep?", "A visit to a museum"):
        options: dict[str, Any] = {
            "refuse_below": 0,
            "explain": True,
            "channels": CHANNELS,
            "techniques": ["vector"],
        }
        found = await memory.recall(query, owner=READER, **options)
        own = await memory.recall(query, owner=GIVER, **options)
        (secret,) = (why(hit).cosine for hit in own if hit.memory.channel == "diary")
        with subtests.test(query):
            assert len(found) == 3
            assert secret is not None
            assert computed_mean(found, 3) == pytest.approx(fmean(cosines_in(found)), abs=0.005)
            assert abs(4 * computed_mean(found, 4) - sum(cosines_in(found)) - secret) > 0.02


def computed_mean(found: Recalled, count: int) -> float:
    """The mean of the cosines of `count` memories, from the best and the worst hit."""
    (first, first_score), (last, last_score) = (
        (why(hit).cosine or 0.0, why(hit).scores["meaning"] / WEIGHTS["meaning"])
        for hit in (found[0], found[-1])
    )
    deviation = (first - last) / (first_score - last_score)
    share = PRIOR_MEMORIES / (PRIOR_MEMORIES + count)
    return (first - first_score * deviation - share * PRIOR_MEAN) / (1 - share)


def cosines_in(found: Recalled) -> list[float]:
    return [why(hit).cosine or 0.0 for hit in found]
