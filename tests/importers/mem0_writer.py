"""A program of its own: makes a local store with the real mem0, offline, and prints what mem0 says it holds.

python mem0_writer.py FOLDER
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

folder = Path(sys.argv[1])
os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0")}

from mem0 import Memory  # noqa: E402 (it reads the environment when it is imported)
from mem0.embeddings.base import EmbeddingBase  # noqa: E402
from mem0.utils.factory import EmbedderFactory  # noqa: E402

DIMENSIONS = 4


class CountedEmbedding(EmbeddingBase):  # type: ignore[misc]
    """Vectors without a model."""

    def __init__(self, config: Any = None) -> None:
        pass

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The length of a text, and ones."""
        return [float(len(text)), 1.0, 1.0, 1.0]


EmbedderFactory.provider_to_class["openai"] = f"{__name__}.CountedEmbedding"
memory = Memory.from_config(
    {
        "vector_store": {
            "provider": "qdrant",
            "config": {"path": str(folder / "qdrant"), "embedding_model_dims": DIMENSIONS, "on_disk": True},
        },
        "embedder": {"provider": "openai", "config": {"api_key": "none"}},
        "llm": {"provider": "openai", "config": {"api_key": "none"}},
        "history_db_path": str(folder / "history.db"),
    }
)
memory.add("Alice lives in Berlin.", user_id="alice", metadata={"topic": "home"}, infer=False)
memory.add(
    [{"role": "user", "content": "I play the cello."}, {"role": "assistant", "content": "Noted."}],
    user_id="alice",
    run_id="run-1",
    infer=False,
)
gone = memory.add("Bob lives in Rome.", user_id="bob", infer=False)["results"][0]["id"]
memory.add("Bob likes tea.", user_id="bob", infer=False)
memory.delete(gone)
print(json.dumps([memory.get_all(filters={"user_id": user}) for user in ("alice", "bob")]))
