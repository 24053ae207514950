"""Candidates of a join: memories with names that the best candidates have and the query lacks."""

from collections.abc import Sequence
from dataclasses import replace

from mnemic.db.database import TenantDatabase
from mnemic.recall.candidates.cosines import semantic_cosines
from mnemic.recall.candidates.owner_lookup import OwnerLookup
from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.candidates.semantic import read_features
from mnemic.recall.candidates.time_windows import TimeWindows
from mnemic.recall.query_embedding import QueryEmbedding, VectorQuery
from mnemic.recall.request import Request

BRIDGED_MAX = 30
STEM_ENDING = 2
"""A name is searched without its last letters, which the stemmer of the index may have removed."""
STEM_MIN_CHARACTERS = 3


async def search_bridged(
    database: TenantDatabase,
    pool: CandidatePool,
    request: Request,
    names: Sequence[str],
    embedding: QueryEmbedding | None,
) -> CandidatePool:
    """The pool with the memories that have one of the names."""
    terms = pool.lexical.terms
    tsqueries = [_prefix(name) for name in names if name.isalpha()]
    if not tsqueries:
        return pool
    parameters = {
        **pool.readable.parameters(request),
        "limit": BRIDGED_MAX,
        "searched": tsqueries,
        "weights": [1.0] * len(tsqueries),
        "memory_total": terms.weighed_count,
        "mean_bytes": terms.mean_bytes,
    }
    (found,) = await database.read("recall.words", parameters)
    new = [key for key in found["found_ids"] if key not in set(pool.keys)]
    if not new:
        return pool
    lookup = OwnerLookup(pool.readable, terms, {}, TimeWindows())
    alone = replace(request, techniques=request.techniques - {"neighbours"})
    query = VectorQuery.of(terms.vector_table, embedding)
    row = await read_features(database, lookup, alone, query, [new], near=())
    return pool.with_row(row, semantic_cosines(row), "bridge")


def _prefix(name: str) -> str:
    """A tsquery for all words that begin like the name."""
    return f"'{name[: max(STEM_MIN_CHARACTERS, len(name) - STEM_ENDING)]}':*"
