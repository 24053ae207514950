"""LangGraph's PostgresStore, in its own database on an embedded server like Mnemic's.

The variant "hnsw" is its default; "flat" keeps vectors as `halfvec` without an index, which is its
fastest configuration for writing.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore

from bench.drivers.workload import Store, Work, serve

NAMESPACE = ("bench",)
# Larger batches were no faster; the driver allows at most 65,535 parameters per statement.
BULK_MAX = 1_000


@contextmanager
def open_store(work: Work) -> Iterator[Store]:
    """A store on one connection, which is faster than its pool."""
    vectors = dict(zip(work.texts, work.vectors.tolist(), strict=True))

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [vectors[text] if text in vectors else work.embed_query(text).tolist() for text in texts]

    flat = {"ann_index_config": {"kind": "flat", "vector_type": "halfvec"}}
    index = {
        "dims": work.vectors.shape[1],
        "embed": embed,
        "fields": ["text"],
        **(flat if work.variant == "flat" else {}),
    }
    with PostgresStore.from_conn_string(work.conninfo, index=index) as store:
        store.setup()

        def add_many(positions: Sequence[int]) -> None:
            store.batch(
                [PutOp(NAMESPACE, str(position), {"text": work.texts[position]}) for position in positions]
            )

        def add_one(position: int) -> None:
            store.put(NAMESPACE, str(position), {"text": work.texts[position]})

        def search(query: str, limit: int) -> int:
            return len(store.search(NAMESPACE, query=query, limit=limit))

        def settle() -> None:
            store.conn.execute("VACUUM (ANALYZE)")

        yield Store(add_many, add_one, BULK_MAX, search=search, settle=settle)


if __name__ == "__main__":
    serve(open_store)
