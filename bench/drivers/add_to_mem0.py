"""mem0 without a language model (`infer=False`), on its default local store, Qdrant in the process.

Its constructor requires an embedder and a language model; both get an invalid key and are never called: the
embedder is replaced by one that looks the vectors up, or calls the shared service.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from mem0 import Memory

from bench.drivers.workload import Store, Work, serve

NO_KEY = "no-key"
# Internally a call adds its memories one by one, so several calls are as fast as one.
BULK_MAX = 500


class Lookup:
    """The one method of mem0's embedders that `add` and `search` call."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._vectors: dict[str, list[float]] = dict(zip(work.texts, work.vectors.tolist(), strict=True))

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of an added text, or else of a query."""
        known = self._vectors.get(text)
        return known if known is not None else self._work.embed_query(text).tolist()


@contextmanager
def open_store(work: Work) -> Iterator[Store]:
    """A memory that keeps its vectors on disk."""
    position = {
        "path": str(work.folder / "qdrant"),
        "on_disk": True,
        "embedding_model_dims": work.vectors.shape[1],
    }
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": position},
            "embedder": {"provider": "openai", "config": {"api_key": NO_KEY}},
            "llm": {"provider": "openai", "config": {"api_key": NO_KEY}},
            "history_db_path": str(work.folder / "history.db"),
        }
    )
    memory.embedding_model = Lookup(work)

    def message(text: str) -> dict[str, str]:
        return {"role": "user", "content": text}

    def search(query: str, limit: int) -> int:
        return len(memory.search(query, top_k=limit, filters={"user_id": "bench"})["results"])

    yield Store(
        add_many=lambda positions: memory.add(
            [message(work.texts[position]) for position in positions], user_id="bench", infer=False
        ),
        add_one=lambda position: memory.add([message(work.texts[position])], user_id="bench", infer=False),
        bulk_max=BULK_MAX,
        search=search,
    )
    memory.vector_store.client.close()


if __name__ == "__main__":
    serve(open_store)
