"""The database and Python compute the same lexical score."""

from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import pytest

from mnemic.recall.candidates.lexical import LexicalMatches, search_lexical
from mnemic.recall.candidates.owner_lookup import look_up_owner
from mnemic.recall.index_maintenance import refresh_word_statistics
from mnemic.recall.lexical_score import lexical_scores, term_weights
from mnemic.recall.query_analysis import analyse_query
from mnemic.recall.readable_owners import requesting_owner
from mnemic.recall.request import Filter, Request
from mnemic.recall.stage_timer import StageTimer
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.opened import core_of

QUERY = "garden piano harbour lantern"
WORDS = QUERY.split()


def test_a_term_weighs_the_same_in_the_database_and_in_python(superuser: AppConnection) -> None:
    pairs = [(count, total) for total in (0, 1, 7, 100, 3_000_000) for count in (0, 1, 2, 50, 99, 100, 5_000)]
    rows = superuser.execute(
        "SELECT mnemic.term_weight(count, total)"
        " FROM unnest(%s::float8[], %s::float8[]) AS given (count, total)",
        ([count for count, _ in pairs], [total for _, total in pairs]),
    ).fetchall()
    expected = [term_weights(np.array([float(count)]), total)[0] for count, total in pairs]
    np.testing.assert_allclose([float(str(row[0])) for row in rows], expected, rtol=1e-12)


def test_a_memory_scores_the_same_in_the_database_and_in_python(superuser: AppConnection) -> None:
    cases = [
        (weight, size, mean)
        for weight in (0.0, 0.4, 17.5)
        for size in (0.0, 1.0, 900.0)
        for mean in (0.5, 80.0)
    ]
    rows = superuser.execute(
        "SELECT mnemic.lexical_score(weight, size, mean)"
        " FROM unnest(%s::float8[], %s::float8[], %s::float8[]) AS given (weight, size, mean)",
        tuple([case[part] for case in cases] for part in range(3)),
    ).fetchall()
    expected = [lexical_scores(np.array([weight]), np.array([size]), mean)[0] for weight, size, mean in cases]
    np.testing.assert_allclose([float(str(row[0])) for row in rows], expected, rtol=1e-12)


@pytest.mark.parametrize("has_statistics", [False, True])
async def test_the_lexical_search_orders_by_the_score(memory: AsyncMemory, has_statistics: bool) -> None:
    random = np.random.default_rng(7)
    await memory.retain_many(
        " ".join([*random.choice(WORDS, random.integers(1, 5)), *["stone"] * random.integers(40)])
        for _ in range(60)
    )
    if has_statistics:
        await refresh_word_statistics(core_of(memory), "alice")
    matches = await search(memory)
    assert matches.terms.has_statistics == has_statistics
    found = matches.found
    contents = [(await memory.memories.get(UUID(bytes=key))).content for key in found]
    terms_of = [
        sum(1 << place for place, lexeme in enumerate(matches.terms.lexemes) if lexeme in content)
        for content in contents
    ]
    size_of = np.array([len(content.encode()) for content in contents], float)
    # Without statistics, a memory counts once for each of its terms.
    counted = np.array([term.bit_count() for term in terms_of])
    mean = matches.terms.mean_bytes or float((size_of * counted).sum() / counted.sum())
    scores = lexical_scores(matches.weights_of(terms_of), size_of, mean)
    assert len(found) == len(set(found)) > 40
    assert (np.diff(scores) <= 1e-6).all(), "best first"


async def search(memory: AsyncMemory) -> LexicalMatches:
    """Search alice's memories for all words of the query."""
    now = datetime.now(UTC)
    request = Request(
        query=QUERY,
        scope=memory._caller.scoped("alice"),
        filter=Filter(),
        limit=100,
        max_tokens=None,
        as_of=None,
        asked_at=now,
        refuse_below=None,
        techniques=frozenset({"text"}),
        explain=False,
        include=frozenset(),
    )
    database, timer = core_of(memory).storage.tenant_database, StageTimer()
    readable, analysis = requesting_owner(request), analyse_query(QUERY, now)
    lookup = await look_up_owner(database, readable, request, analysis, timer)
    return await search_lexical(database, lookup, request, timer)
