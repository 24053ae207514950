"""The lexical score of a memory: BM25 without term frequency.

    score = sum of the weights of the query's terms that the memory has * (K1 + 1) / (1 + K1 * length)
    weight = ln(1 + (N - n + 0.5) / (n + 0.5)), for n of the owner's N memories that have the term
    length = 1 - B + B * bytes of the memory / mean bytes

The database computes the same score to order the matches of the lexical search (mnemic.term_weight and
mnemic.lexical_score; a test compares the numbers). The mean length is that of the owner's memories if
statistics are kept; else the database takes the mean of all matches, and ranking the mean of the pool.

How often a term occurs in one memory does not count: on conversations it changed nothing, on long messages
it made results worse (LoCoMo R@10 .654 either way, BEAM .548 against .462 with BM25's term frequency). With
B = 0.75 LoCoMo's R@5 is .748, with 0.5 it is .753.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

K1 = 2.0
B = 0.5


def term_weights(counts: Floats, memory_count: int) -> Floats:
    """The weight of each term, from the number of memories that have it (inverse document frequency)."""
    weights: Floats = np.log1p((np.maximum(memory_count - counts, 0) + 0.5) / (counts + 0.5))
    return weights


def sum_of_weights(bits: int, weights: Sequence[float]) -> float:
    """What the terms of a bit field weigh together; bit n stands for term n."""
    return float(sum(weight for place, weight in enumerate(weights) if bits >> place & 1))


def lexical_scores(weights: Floats, lengths_bytes: Floats, mean_bytes: float) -> Floats:
    """The score of each memory, from the summed weights of its terms and its length."""
    length = 1 + K1 * (1 - B + B * lengths_bytes / max(mean_bytes, 1.0))
    scores: Floats = weights * (1 + K1) / length
    return scores
