"""Mnemic, on an embedded server of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.drivers.workload import Store, Work, serve
from bench.ready_vectors import ReadyVectors
from mnemic import Memory
from mnemic.db.embedded import stop


@contextmanager
def open_store(work: Work) -> Iterator[Store]:
    """A memory whose embedder looks the vectors up; a bulk of any size is one call, all or nothing."""
    engine = ReadyVectors(work.texts, work.vectors)
    try:
        with Memory(data_dir=work.folder, owner="bench", embedder=engine) as memory:
            yield Store(
                add_many=lambda places: memory.retain_many(work.texts[place] for place in places),
                add_one=lambda place: memory.retain(work.texts[place]),
                bulk_max=len(work.texts),
            )
    finally:
        stop(work.folder)


if __name__ == "__main__":
    serve(open_store)
