"""Edit distances between one word and many: letters inserted, left out, replaced, or swapped with the next.

The words are rows of a matrix of code points, so that each step of the usual table is one operation over all
of them (optimal string alignment). Words that cannot be near are dropped first, by length and letters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

WORD_MAX_LETTERS = 32
"""Longer words are cut here, which makes them longer than any word that is compared with them."""


@dataclass(frozen=True)
class WordMatrix:
    """Words as rows of code points, with a bit field of the letters of each."""

    words: tuple[str, ...]
    codes: npt.NDArray[np.uint32]
    lengths: Integers
    letters: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, words: Sequence[str]) -> "WordMatrix":
        """Words of one letter or more."""
        cut = np.array([*words, ""], dtype=f"U{WORD_MAX_LETTERS}")[:-1]
        codes = np.ascontiguousarray(cut).view(np.uint32).reshape(len(words), WORD_MAX_LETTERS)
        return cls(tuple(words), codes, (codes > 0).sum(axis=1), _letters(codes))

    def chosen(self, places: npt.NDArray[np.intp]) -> "WordMatrix":
        """The words at these places."""
        words = tuple(self.words[place] for place in places.tolist())
        return WordMatrix(words, self.codes[places], self.lengths[places], self.letters[places])

    def near(self, word: str, distance_max: int) -> list[str]:
        """The words within this edit distance."""
        letters = WordMatrix.of([word]).letters[0]
        is_possible = (np.abs(self.lengths - len(word)) <= distance_max) & (
            np.maximum(_bit_count(self.letters & ~letters), _bit_count(letters & ~self.letters))
            <= distance_max
        )
        candidates = self.chosen(np.flatnonzero(is_possible))
        if not candidates.words:
            return []
        table = _table(word, candidates, distance_max)
        distances = table[len(word), candidates.lengths, np.arange(len(candidates.words))]
        return [candidates.words[place] for place in np.flatnonzero(distances <= distance_max).tolist()]

    def near_beginnings(
        self, word: str, ending_max: int, distance_max: int
    ) -> list[tuple[str, tuple[int, ...]]]:
        """The words that are near to a beginning of `word`, which is at most `ending_max` letters shorter.

        With each, its distances from these beginnings, the shortest one first.
        """
        letters = WordMatrix.of([word]).letters[0]
        is_possible = (
            (self.lengths <= len(word) + distance_max)
            & (self.lengths >= len(word) - ending_max - distance_max)
            & (_bit_count(self.letters & ~letters) <= distance_max)
        )
        candidates = self.chosen(np.flatnonzero(is_possible))
        if not candidates.words:
            return []
        table = _table(word, candidates, distance_max)[max(len(word) - ending_max, 0) :]
        distances = table[:, candidates.lengths, np.arange(len(candidates.words))].T
        near = np.flatnonzero(distances.min(axis=1) <= distance_max).tolist()
        return [(candidates.words[place], tuple(distances[place].tolist())) for place in near]


def edit_cost(typed: str, meant: str, swap: float, double: float) -> float:
    """The edit distance with other costs for two swapped letters, and for a doubled one written once or the
    reverse: the commonest typing errors."""
    before, row = [0.0], list(map(float, range(len(meant) + 1)))
    for i, letter in enumerate(typed, 1):
        before, last, row = row, before, [float(i)]
        drop = double if i > 1 and letter == typed[i - 2] else 1.0
        for j, other in enumerate(meant, 1):
            add = double if j > 1 and other == meant[j - 2] else 1.0
            cost = min(before[j] + drop, row[j - 1] + add, before[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == meant[j - 2] and typed[i - 2] == other and letter != other:
                cost = min(cost, last[j - 2] + swap)
            row.append(cost)
    return row[-1]


def _table(word: str, many: WordMatrix, distance_max: int) -> npt.NDArray[np.int16]:
    """Distances of all beginnings of `word` and all beginnings of each of the others: [beginning of `word`,
    beginning of the other, other]. Distances above `distance_max` are only known to be above it."""
    longest = int(many.lengths.max())
    codes = many.codes.T
    table = np.full((len(word) + 1, longest + 1, len(many.words)), distance_max + 1, np.int16)
    for i in range(len(word) + 1):
        # Beginnings whose lengths differ by more have a greater distance.
        for j in range(max(0, i - distance_max), min(longest, i + distance_max) + 1):
            if i == 0 or j == 0:
                table[i, j] = i + j
                continue
            cell = np.minimum(table[i - 1, j], table[i, j - 1]) + 1
            cell = np.minimum(cell, table[i - 1, j - 1] + (codes[j - 1] != ord(word[i - 1])))
            if i > 1 and j > 1:
                is_swapped = (codes[j - 2] == ord(word[i - 1])) & (codes[j - 1] == ord(word[i - 2]))
                cell = np.where(is_swapped, np.minimum(cell, table[i - 2, j - 2] + 1), cell)
            table[i, j] = cell
    return table


def _letters(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """A bit per letter; letters beyond a to z share the bits."""
    bits = np.where(codes > 0, np.uint32(1) << (codes & np.uint32(31)), np.uint32(0)).astype(np.uint32)
    letters: npt.NDArray[np.uint32] = np.bitwise_or.reduce(bits, axis=1)
    return letters


def _bit_count(fields: npt.NDArray[np.uint32]) -> Integers:
    # numpy has bitwise_count only from 2.0 on.
    counted: Integers = _BITS[fields & np.uint32(0xFFFF)] + _BITS[fields >> np.uint32(16)]
    return counted


_BITS = np.array([number.bit_count() for number in range(1 << 16)], np.int64)
