"""The nearest memories, and all that ranking looks at of them and of other candidates, in one statement.

It could be three: search by meaning, look around the candidates, compare all of them with the query. But each
costs a round trip and the unpacking of a few hundred ids, together as much as the database itself needs. The
text is composed, since each model has a table of its own (see `vector_index.py`); the looking around is done
by `mnemic.evidence` (migration 0010).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.db.id_arrays import IdArray, Key
from mnemic.db.vector_index import NearQuery, Usual, run_near
from mnemic.db.vectors import Vectors, VectorTable

# Candidates that somebody else has found and put into order.
_GIVEN = sql.SQL(
    "SELECT memory_id, -place::float8 AS cosine, NULL::float8 AS mean, NULL::float8 AS deviation,"
    " NULL::bigint AS row_count"
    " FROM unnest(%(near_keys)s) WITH ORDINALITY AS given (memory_id, place)"
)
_POOL = sql.SQL(
    "WITH near AS MATERIALIZED ({near}),"
    " nearest AS MATERIALIZED ("
    "   SELECT"
    "     coalesce("
    "       array_agg(memory_id ORDER BY cosine DESC, memory_id) FILTER (WHERE memory_id IS NOT NULL), '{{}}'"
    "     ) AS ids,"
    "     max(mean) AS mean, max(deviation) AS deviation, max(row_count) AS row_count,"
    "     extract(epoch FROM clock_timestamp() - statement_timestamp())::float8 * 1000 AS near_ms"
    "   FROM near"
    " )"
    " SELECT evidence.*, nearest.ids AS near_ids, nearest.mean, nearest.deviation, nearest.row_count,"
    "   nearest.near_ms,"
    # A sub-select for each is one look by key, whatever the planner believes about the table.
    "   ARRAY("
    "     SELECT (SELECT 1 - (embedding <=> %(vector)s::halfvec) FROM vectors.{table} AS compared"
    "       WHERE compared.tenant_id = %(tenant_id)s AND compared.memory_id = listed.memory_id)"
    "     FROM unnest(evidence.memory_ids) WITH ORDINALITY AS listed (memory_id, place)"
    "     ORDER BY listed.place"
    "   )::real[] AS cosines,"
    "   ARRAY("
    "     SELECT 1 - (embedding <=> %(vector)s::halfvec) FROM vectors.{table} AS compared"
    "     WHERE nearest.row_count IS NULL AND compared.tenant_id = %(tenant_id)s"
    "       AND compared.memory_id = ANY("
    "         (SELECT sample FROM vectors.owner_statistics AS kept WHERE kept.owner = %(owner)s)::uuid[]"
    "       )"
    "   )::real[] AS sample_cosines"
    " FROM nearest"
    " CROSS JOIN LATERAL mnemic.evidence("
    "   %(owner)s, %(ids)s || nearest.ids, %(expanded_ids)s || nearest.ids[:%(expanded)s],"
    "   %(reach)s, %(terms)s::text[],"
    "   ROW("
    "     %(channels)s::text[], %(categories)s::text[], %(tags)s::text[], %(any_tags)s::text[],"
    "     %(conversation)s, %(since)s, %(until)s, %(min_confidence)s, %(statuses)s::text[], %(moment)s,"
    "     %(as_of)s::timestamptz IS NOT NULL"
    "   )::mnemic.recall_filter,"
    "   %(as_of)s::timestamptz"
    " ) AS evidence"
)


@dataclass(frozen=True)
class NearPool:
    """The nearest, best first, what is usual, how long that took, and the row of the pool's columns."""

    near_keys: Sequence[Key]
    usual: Usual | None
    is_complete: bool
    near_ms: float
    row: Row


async def near_pool(
    transaction: Transaction,
    table: VectorTable,
    owner: str,
    vector: Vectors,
    *,
    near: NearQuery | Sequence[Key],
    limit: int,
    parameters: Mapping[str, Any],
) -> NearPool:
    """Search the `limit` nearest and look around the best candidates.

    `near` is the search (`near_query`, asked for in this transaction), or what somebody else has found. The
    `parameters` are those of `mnemic.evidence`, with `expanded`: how many of the nearest bring their
    neighbours along.
    """
    is_search = isinstance(near, NearQuery)
    text = _POOL.format(near=near if is_search else _GIVEN, table=sql.Identifier(table.name))
    given = IdArray(() if isinstance(near, NearQuery) else near)
    values = {**parameters, "limit": limit, "near_keys": given}
    (row,) = await run_near(transaction, text, owner, vector, values, prepare=is_search)
    return NearPool(row["near_ids"], _usual(row), row["row_count"] is not None, row["near_ms"], row)


def _usual(row: Row) -> Usual | None:
    """What is usual among all of the owner's vectors, or among a sample of them; None if that is unknown."""
    if row["row_count"] is not None:
        return Usual(row["mean"] or 0.0, row["deviation"] or 0.0, row["row_count"])
    return Usual.of(row["sample_cosines"]) if row["sample_cosines"] else None
