"""The indexes of a large owner: building them, their recall against an exact scan, their size on disk."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg.rows import dict_row

from bench.speed_texts import AskedQuestion
from bench.speed_vectors import question_vector
from mnemic import AsyncMemory
from mnemic.db.access import DATABASE_NAME
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.vector_index import find_index, nearest, nearest_exact
from mnemic.db.vectors import find_vectors
from mnemic.embeddings.indexes import TURN_WAIT_S, index_owner
from mnemic.recall.candidates.query_terms import STATISTICS_MIN_MEMORIES
from mnemic.recall.index_maintenance import refresh_word_statistics

BEST_COUNT = 10
MEGABYTE = 1024**2
SHOWN_MIN_BYTES = MEGABYTE

_TIDY_UP: tuple[LiteralString, ...] = ("VACUUM (ANALYZE)", "CHECKPOINT")
_RELATIONS = """
SELECT relation.oid::regclass::text AS name, pg_table_size(relation.oid) AS table_bytes,
    pg_indexes_size(relation.oid) AS index_bytes
FROM pg_class AS relation JOIN pg_namespace AS namespace ON namespace.oid = relation.relnamespace
WHERE relation.relkind = 'r' AND namespace.nspname IN ('state', 'vectors', 'traces', 'queue')
    AND pg_total_relation_size(relation.oid) >= %(min_bytes)s
ORDER BY pg_total_relation_size(relation.oid) DESC
"""
_VECTOR_INDEXES = """
SELECT relation.oid::regclass::text AS name, 0 AS table_bytes, pg_relation_size(relation.oid) AS index_bytes
FROM pg_class AS relation JOIN pg_am ON pg_am.oid = relation.relam
WHERE pg_am.amname = 'hnsw' ORDER BY pg_relation_size(relation.oid) DESC
"""


@dataclass(frozen=True)
class Relation:
    """Size on disk of a table and its indexes, or of a single index."""

    name: str
    table_mb: float
    index_mb: float


async def settle(memory: AsyncMemory, data_dir: Path, owner: str, memory_count: int) -> float:
    """Build the index and statistics of an owner of this size, and vacuum; returns the seconds it took."""
    began_s = time.perf_counter()
    if memory_count > STATISTICS_MIN_MEMORIES:
        await refresh_word_statistics(memory._core, owner)
    await index_owner(memory._core, owner, turn_wait_s=TURN_WAIT_S)
    await asyncio.to_thread(tidy_up, data_dir)
    return time.perf_counter() - began_s


def tidy_up(data_dir: Path) -> None:
    """Vacuum and analyze now, as autovacuum would later."""
    with EmbeddedServer.start(data_dir) as server:
        conninfo = server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
        with psycopg.connect(conninfo, autocommit=True) as connection:
            for statement in _TIDY_UP:
                connection.execute(statement)


async def measure_ann_recall(
    memory: AsyncMemory, owner: str, asked: Sequence[AskedQuestion], memory_count: int
) -> float | None:
    """The share of the ten nearest that the index finds; None where the owner has no index."""
    found_count = 0
    async with memory._core.storage.tenant_database.transaction() as transaction:
        table = await find_vectors(transaction, memory._core.embedder.name)
        if table is None or await find_index(transaction, table, owner) is None:
            return None
        for each in asked:
            vector = question_vector(each.question, each.about)
            exact = await nearest_exact(transaction, table, owner, vector, BEST_COUNT)
            near = await nearest(transaction, table, owner, vector, BEST_COUNT, memory_count)
            found_count += len(set(exact.memory_ids) & set(near.memory_ids))
    return found_count / (BEST_COUNT * len(asked))


def relation_sizes(data_dir: Path) -> list[Relation]:
    """The tables of a megabyte and more, largest first, then each index of vectors."""
    with (
        EmbeddedServer.start(data_dir) as server,
        psycopg.connect(
            server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME), row_factory=dict_row
        ) as connection,
    ):
        rows = connection.execute(_RELATIONS, {"min_bytes": SHOWN_MIN_BYTES}).fetchall()
        rows += connection.execute(_VECTOR_INDEXES).fetchall()
    return [_relation(row) for row in rows]


def _relation(row: dict[str, Any]) -> Relation:
    return Relation(row["name"], row["table_bytes"] / MEGABYTE, row["index_bytes"] / MEGABYTE)
