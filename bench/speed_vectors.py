"""Generated vectors that are distributed like real ones, and query vectors near them.

Vectors of real texts form clusters of unequal size and vary much more in some directions than in others; an
index behaves differently on them than on uniform noise. So the hash of a text chooses one of a few hundred
clusters of very unequal size, and noise is added to the centre, with a spread that falls from direction to
direction. The numbers below were tuned until 2,500 generated texts resembled as many chat turns embedded by
MiniLM (mean cosine of two turns .06 to .28 in two public sets, here .16; median to the
nearest .68 to .73, here .72; to the tenth nearest .38 to .63, here .54; half of the spread in 22 to 48 of 384
directions, here in 27).

The local model embeds each question, so that its time counts, but the search uses a vector near that of the
text that the question is about: generated words have no meaning for the model.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from mnemic.models.engine import EmbeddingEngine, FloatArray, InputType
from mnemic.models.local import MiniLM

DIMENSIONS = MiniLM.dimensions

CLUSTER_COUNT = 400
CLUSTER_SEED = 400
# The size of a cluster falls with its rank to this power, and the spread of a direction with its rank.
CLUSTER_POWER = 0.8
SPREAD_POWER = 0.4
# The parts of a vector: shared by all texts, shared by its cluster, its own noise.
COMMON_SHARE = 0.4
CENTRE_SHARE = 0.75
OWN_SHARE = 0.6
# The noise between a question and the text that it is about.
QUESTION_SHARE = 1.0


class ClusteredVectors:
    """Has the name and dimensions of the local model, so that vectors are stored like its own."""

    name = MiniLM.name
    dimensions = DIMENSIONS

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """The vector of each text; deterministic."""
        return np.stack([vector_of(text) for text in texts])

    async def aclose(self) -> None:
        """Nothing to close."""


class NearVectors(ClusteredVectors):
    """Embeds questions at the cost of a real model; `about` says which text each question is about.

    Other texts (some stores also embed the names in a question) get the vector of their own words.
    """

    def __init__(self, model: EmbeddingEngine, about: Mapping[str, str]) -> None:
        self._model = model
        # Computed in advance, so that only the time of the model is measured.
        self._vectors = {question: question_vector(question, text) for question, text in about.items()}

    async def embed(self, texts: Sequence[str], *, input_type: InputType) -> FloatArray:
        """For a question a vector near its text, for a text the text's own."""
        if input_type == "document":
            return await super().embed(texts, input_type=input_type)
        await self._model.embed(texts, input_type=input_type)
        return np.stack([self._vectors[text] if text in self._vectors else vector_of(text) for text in texts])


def vector_of(text: str) -> FloatArray:
    """The generated vector of a text, of length one."""
    common, centres, chances, spread = _clusters()
    random = _random_of(text)
    centre = centres[np.searchsorted(chances, random.random())]
    own = random.standard_normal(DIMENSIONS, dtype=np.float32) * spread
    return _scaled(COMMON_SHARE * common + CENTRE_SHARE * centre + OWN_SHARE * own)


def question_vector(question: str, text: str) -> FloatArray:
    """A vector near that of the text, of length one."""
    _, _, _, spread = _clusters()
    off = _random_of(question).standard_normal(DIMENSIONS, dtype=np.float32) * spread
    return _scaled(vector_of(text) + QUESTION_SHARE * off)


@cache
def _clusters() -> tuple[FloatArray, FloatArray, NDArray[np.float64], FloatArray]:
    """The shared part, the centres, the cumulative probabilities of clusters, the spread by direction."""
    random = np.random.default_rng(CLUSTER_SEED)
    spread = (np.arange(1, DIMENSIONS + 1) ** -SPREAD_POWER).astype(np.float32)
    spread /= np.linalg.norm(spread)
    common = _scaled(random.standard_normal(DIMENSIONS, dtype=np.float32) * spread)
    centres = random.standard_normal((CLUSTER_COUNT, DIMENSIONS), dtype=np.float32) * spread
    chances = np.cumsum(np.arange(1, CLUSTER_COUNT + 1) ** -CLUSTER_POWER)
    return common, centres, chances / chances[-1], spread


def _random_of(text: str) -> np.random.Generator:
    return np.random.Generator(
        np.random.SFC64(int.from_bytes(blake2b(text.encode(), digest_size=8).digest()))
    )


def _scaled(vector: FloatArray) -> FloatArray:
    scaled: FloatArray = (vector / np.linalg.norm(vector)).astype(np.float32)
    return scaled
