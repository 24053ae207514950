"""Mnemic, on an embedded server of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.drivers.workload import Store, Work, run
from bench.ready_vectors import ReadyVectors
from mnemic import Memory
from mnemic.db.embedded import stop


@contextmanager
def open_store(work: Work) -> Iterator[Store]:
    """A memory whose embedder looks the vectors up."""
    engine = ReadyVectors(work.texts, work.vectors)
    try:
        with Memory(data_dir=work.folder, owner="bench", embedder=engine) as memory:
            yield Store(
                add_many=lambda places: void(memory.retain_many(work.texts[place] for place in places)),
                add_one=lambda place: void(memory.retain(work.texts[place])),
            )
    finally:
        stop(work.folder)


def void(answer: object) -> None:
    """What came back is of no interest."""


if __name__ == "__main__":
    run(open_store)
