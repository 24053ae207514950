"""Chroma, persistent, in its own process: a vector index and a full-text index in SQLite."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import chromadb

from bench.drivers.workload import Store, Work, serve


@contextmanager
def open_store(work: Work) -> Iterator[Store]:
    """A collection without an embedding function: every addition comes with its vectors."""
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(work.folder), settings=settings)
    collection = client.create_collection("bench", embedding_function=None, metadata={"hnsw:space": "cosine"})

    def add(positions: Sequence[int]) -> None:
        collection.add(
            ids=[str(position) for position in positions],
            documents=[work.texts[position] for position in positions],
            embeddings=work.vectors[list(positions)],
            metadatas=[{"owner": "bench"}] * len(positions),
        )

    def search(query: str, limit: int) -> int:
        found = collection.query(
            query_embeddings=[work.embed_query(query)], n_results=limit, where={"owner": "bench"}
        )
        return len(found["documents"][0])

    yield Store(
        add_many=add,
        add_one=lambda position: add([position]),
        bulk_max=client.get_max_batch_size(),
        search=search,
    )


if __name__ == "__main__":
    serve(open_store)
