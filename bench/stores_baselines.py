"""Cosine alone and BM25 alone over the contents of one store, in memory.

These are the rankings that a store is compared with, plain on purpose: the cosine of the local embedder's
vectors, and Okapi BM25 (k1 = 1.5, b = 0.75) over words whose ending is cut off.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.models.engine import EmbeddingEngine, FloatArray

TERM_SATURATION = 1.5
LENGTH_SHARE = 0.75

_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"(ing|ed|es|s)$")


class StoreBaselines:
    """The rankings of one store. `open` embeds its contents."""

    def __init__(self, contents: Sequence[str], vectors: FloatArray, engine: EmbeddingEngine) -> None:
        self._contents = contents
        self._vectors = vectors
        self._engine = engine
        self._lengths = np.array([len(_words(content)) for content in contents], np.float64)
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for position, content in enumerate(contents):
            for word, times in Counter(_words(content)).items():
                postings[word].append((position, times))
        self._postings = {word: np.array(found, np.int64) for word, found in postings.items()}

    @classmethod
    async def open(cls, contents: Sequence[str], engine: EmbeddingEngine) -> "StoreBaselines":
        """Index these contents."""
        return cls(contents, await engine.embed(contents, input_type="document"), engine)

    async def rank(self, query: str, limit: int) -> dict[str, list[str]]:
        """The contents that each ranking finds, best first."""
        vector = (await self._engine.embed([query], input_type="query"))[0]
        scores = {"cosine": self._vectors @ vector, "BM25": self._bm25(query)}
        return {
            name: [self._contents[position] for position in np.argsort(-found)[:limit]]
            for name, found in scores.items()
        }

    def _bm25(self, query: str) -> NDArray[np.float64]:
        count, scores = len(self._contents), np.zeros(len(self._contents))
        relative_lengths = self._lengths / self._lengths.mean()
        for word in sorted(set(_words(query))):
            if (found := self._postings.get(word)) is not None:
                positions, times = found[:, 0], found[:, 1].astype(np.float64)
                rarity = np.log1p((count - len(found) + 0.5) / (len(found) + 0.5))
                length = 1 - LENGTH_SHARE + LENGTH_SHARE * relative_lengths[positions]
                scores[positions] += (
                    rarity * times * (TERM_SATURATION + 1) / (times + TERM_SATURATION * length)
                )
        return scores


def _words(text: str) -> list[str]:
    return [_ENDING.sub("", word) for word in _WORD.findall(text.lower())]
