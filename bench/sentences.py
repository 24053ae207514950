"""Generated sentences with word frequencies as in English, the same for the same seed.

The vocabulary of the local model lists its words by frequency. Drawn from it by Zipf's law, many words of a
sentence are "the" or "of", and a long tail is rare, so a lexical index has realistic work. The sentences make
no sense.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

MIN_WORDS = 8
MAX_WORDS = 40
FIRST_WORD = "the"
BLOCK_SENTENCES = 512
# Zipf-Mandelbrot: the frequency of a word falls with its rank plus this.
RANK_OFFSET = 2.7


def sentences(count: int, *, seed: int) -> list[str]:
    """`count` sentences of 8 to 40 words; two equal ones are practically impossible."""
    return list(stream(count, seed=seed))


def stream(count: int, *, seed: int, tail_count: int = 0) -> Iterator[str]:
    """The same as an iterator, generated in small blocks.

    A large store has rare words that are in no vocabulary: names, compounds, typing errors. `tail_count` such
    words are generated from a word and endings, and rank after the vocabulary.
    """
    random = np.random.default_rng(seed)
    words, chances = _vocabulary(tail_count)
    for start in range(0, count, BLOCK_SENTENCES):
        lengths = random.integers(MIN_WORDS, MAX_WORDS + 1, min(BLOCK_SENTENCES, count - start))
        drawn = np.searchsorted(chances, random.random(int(lengths.sum())))
        position = 0
        for length in lengths:
            chosen = [words[rank] for rank in drawn[position : position + length]]
            yield " ".join(chosen).capitalize() + "."
            position += length


@cache
def _vocabulary(tail_count: int) -> tuple[list[str], np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """The words by rank, and their cumulative probabilities."""
    listed = files("mnemic.models").joinpath("data", "bert-uncased-vocab.txt").read_text("utf-8").split("\n")
    words = [word for word in listed[listed.index(FIRST_WORD) :] if word.isascii() and word.isalpha()]
    endings = [word[2:] for word in listed if word.startswith("##") and word.isascii() and word[2:].isalpha()]
    words += _made_up(words, endings, tail_count)
    chances = np.cumsum(1.0 / (np.arange(len(words)) + 1 + RANK_OFFSET))
    return words, chances / chances[-1]


def _made_up(words: Sequence[str], endings: Sequence[str], count: int) -> list[str]:
    random = np.random.default_rng(count)
    starts, ends = random.integers(0, len(words), count), random.integers(0, len(endings), count)
    return [words[start] + endings[end] for start, end in zip(starts, ends, strict=True)]
