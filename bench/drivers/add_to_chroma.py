"""Chroma, persistent, in its own process: a vector index and a full-text index in SQLite."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import chromadb  # type: ignore[import-not-found]

from bench.drivers.workload import Store, Work, run


@contextmanager
def open_store(work: Work) -> Iterator[Store]:
    """A collection without an embedding function: every addition brings its vectors."""
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(str(work.folder), settings=settings)
    collection = client.create_collection("bench", embedding_function=None, metadata={"hnsw:space": "cosine"})
    batch_max = client.get_max_batch_size()

    def add(places: Sequence[int]) -> None:
        collection.add(
            ids=[str(place) for place in places],
            documents=[work.texts[place] for place in places],
            embeddings=work.vectors[list(places)],
            metadatas=[{"owner": "bench"}] * len(places),
        )

    def add_many(places: Sequence[int]) -> None:
        for start in range(0, len(places), batch_max):
            add(places[start : start + batch_max])

    yield Store(add_many=add_many, add_one=lambda place: add([place]))


if __name__ == "__main__":
    run(open_store)
