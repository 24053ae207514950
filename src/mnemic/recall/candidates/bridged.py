"""Candidates of a join: memories with names that the best candidates have and the query lacks."""

from collections.abc import Sequence

from mnemic.db.database import TenantDatabase
from mnemic.recall.candidates.cosines import lexical_cosines
from mnemic.recall.candidates.neighbours import features_parameters
from mnemic.recall.candidates.owner_lookup import OwnerLookup
from mnemic.recall.candidates.pool import CandidatePool
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
    lookup = OwnerLookup(pool.readable, terms, {}, ())
    tsqueries = [_prefix(name) for name in names if name.isalpha()]
    if not tsqueries:
        return pool
    parameters = {
        **features_parameters(lookup, request, ()),
        "limit": BRIDGED_MAX,
        "expanded": 0,
        "searched": tsqueries,
        "weights": [1.0] * len(tsqueries),
        "memory_total": terms.weighed_count,
        "mean_bytes": terms.mean_bytes,
        "with_vectors": embedding is not None and "vector" in request.techniques,
        "sample_owner": None,
    }
    (row,) = await database.read("recall.words", parameters)
    return pool.with_row(row, lexical_cosines(row, VectorQuery.of(terms.vector_table, embedding)), "bridge")


def _prefix(name: str) -> str:
    """A tsquery for all words that begin like the name."""
    return f"'{name[: max(STEM_MIN_CHARACTERS, len(name) - STEM_ENDING)]}':*"
