"""Finding memories by the words of the query, rare words first.

Every word weighs as much as it is rare among the owner's memories (BM25's inverse document frequency). How
often a word occurs in one memory does not count: on conversations it changed nothing, on long messages
it made results worse (LoCoMo R@10 .654 either way, BEAM .548 against .462 with BM25's term frequency).

All forms of a word are one term, "bought" and "buy", "children" and "child" (`mnemic.word_forms`).

For most owners every word is searched, and counted while it is. Owners with more memories than
`STATISTICS_MIN_MEMORIES` have their counts kept (`vectors.word_statistics`): then words are searched from
the rarest on until enough matches are expected; where even the rarest is too frequent, memories that have
several of the words are.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemic.db.connection import Row
from mnemic.db.id_arrays import Key
from mnemic.db.vectors import VectorTable
from mnemic.recall.request import Request
from mnemic.recall.understand import Question

TERMS_MAX = 32
STATISTICS_MIN_MEMORIES = 2_000
STATISTICS_AGE = timedelta(days=1)
"""Counts older than this are counted anew, in the background."""
COUNTED_MAX = 2 * STATISTICS_MIN_MEMORIES
"""Memories of an owner are counted up to this where no number is kept."""
STATISTICS_LEAST_SHARE = 0.0002
"""`mnemic.refresh_statistics` leaves out words in a smaller share of memories; they count as this rare."""
# How many matches are searched for where counts are kept, with an owner of `MATCHES_AT` memories or more. One
# takes less time where there are fewer memories, and more of them find more: of LoCoMo's answers among 30,000
# other turns, .75 were among the first ten with 1,000 matches, .77 with 2,000.
MATCHES_ENOUGH = 1_000
MATCHES_AT = 100_000
MATCHES_GROWTH_MAX = 3.0
MATCHES_EXCESS = 2.5
"""How many times as many are still searched for if even the rarest term has more than enough."""
CONJOINED_MAX = 4

Weights = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Terms:
    """The terms of a query, its words and quoted phrases, and what is known before searching.

    `terms` are PostgreSQL's tsqueries, for a word with several forms one of all of them; `counts` say how
    many memories have each, None where that is not kept; `table` has the vectors that serve.
    """

    lexemes: tuple[str, ...]
    terms: tuple[str, ...]
    counts: tuple[int | None, ...]
    memory_count: int
    mean_bytes: float | None
    is_kept: bool
    is_stale: bool
    has_entities: bool
    has_grants: bool
    table: VectorTable | None

    @property
    def lacks_statistics(self) -> bool:
        """Whether counts should be kept for this owner, or counted anew."""
        return self.is_stale or (not self.is_kept and self.memory_count > STATISTICS_MIN_MEMORIES)


@dataclass(frozen=True)
class Words:
    """The terms of a query among one owner's memories, and what they found.

    `weights` and `shares` (of the memories that have a term) go by term; `conversation_terms` says which
    terms a conversation has, bit by bit.
    """

    known: Terms
    weights: Weights
    shares: Weights
    found: Sequence[Key]
    conversation_terms: Mapping[str, int]

    def weights_of(self, fields: Sequence[int]) -> Weights:
        """What the terms of each bit field weigh together; most fields are equal to others."""
        weights = self.weights.tolist()
        known = {bits: _weight(bits, weights) for bits in set(fields)}
        return np.array([known[bits] for bits in fields], float)

    def of(self, bits: int) -> tuple[str, ...]:
        """The words that a bit field stands for."""
        return tuple(lexeme for place, lexeme in enumerate(self.known.lexemes) if bits >> place & 1)


@dataclass(frozen=True)
class _Search:
    """One thing to search for: a tsquery, and the bits of the terms that it stands for."""

    query: str
    bits: int


@dataclass(frozen=True)
class WordSearch:
    """What to search for: the terms as far as that is worth it, and what each weighs."""

    known: Terms
    searches: Sequence[_Search]

    @classmethod
    def of(cls, known: Terms, request: Request) -> "WordSearch":
        """What to search for; nothing if the technique `text` is off."""
        return cls(known, _searches(known) if "text" in request.techniques else ())

    def parameters(self) -> dict[str, Any]:
        """As `recall.words` wants them."""
        return {
            "searched": [search.query for search in self.searches],
            "weights": _search_weights(self.known, self.searches),
            "memory_total": self.known.memory_count,
        }

    def found(self, row: Row | None) -> Words:
        """The words and what they found, by a row of `recall.words`, if it was asked for."""
        known = self.known
        if row is None or not self.searches:
            return _words(known, _estimated(known.counts, known.memory_count), (), {})
        counts = _estimated(known.counts if known.is_kept else row["counts"], known.memory_count)
        covered = zip(row["found_conversations"], row["conversation_terms"], strict=True)
        by_conversation = {conversation: _by_term(bits, self.searches) for conversation, bits in covered}
        return _words(known, counts, row["found_ids"], by_conversation)


def terms_parameters(owner: str, question: Question) -> dict[str, Any]:
    """As `recall.terms` wants them."""
    return {
        "owner": owner,
        "query": question.text,
        "phrases": list(question.phrases),
        "count_max": COUNTED_MAX,
        "statistics_age": STATISTICS_AGE,
    }


def terms_of(row: Row, question: Question) -> Terms:
    """The words of the query that are indexed, and its quoted phrases, those with such words, as terms."""
    phrases = [
        (phrase, term)
        for phrase, term in zip(question.phrases, row["phrase_terms"], strict=True)
        if term is not None
    ]
    return Terms(
        lexemes=(*row["lexemes"][:TERMS_MAX], *(phrase for phrase, _ in phrases)),
        terms=(*row["terms"][:TERMS_MAX], *(term for _, term in phrases)),
        counts=(*row["counts"][:TERMS_MAX], *(None for _ in phrases)),
        memory_count=row["counted"] if row["kept_count"] is None else row["kept_count"],
        mean_bytes=row["mean_bytes"],
        is_kept=row["kept_count"] is not None,
        is_stale=row["is_stale"],
        has_entities=row["has_entities"],
        has_grants=row["has_grants"],
        table=VectorTable(row["model"], row["dimensions"], row["table_name"]) if row["model"] else None,
    )


def _words(known: Terms, counts: Weights, found: Sequence[Key], by_conversation: Mapping[str, int]) -> Words:
    total = known.memory_count
    return Words(known, _inverse(counts, total), counts / max(total, 1), found, by_conversation)


def _searches(known: Terms) -> list[_Search]:
    """What to search for: every term, or, where counts are kept, the rarest ones."""
    if not known.is_kept:
        return [_Search(term, 1 << place) for place, term in enumerate(known.terms)]
    counts = _estimated(known.counts, known.memory_count)
    enough = _enough(known.memory_count)
    rarest_first = sorted(range(len(known.terms)), key=lambda place: counts[place])
    chosen: list[int] = []
    expected = 0.0
    for place in rarest_first:
        if chosen and expected + counts[place] > enough:
            break
        chosen.append(place)
        expected += counts[place]
    if expected <= enough * MATCHES_EXCESS:
        return [_Search(known.terms[place], 1 << place) for place in chosen]
    return _conjoined(known, rarest_first, counts, enough)


def _enough(memory_count: int) -> float:
    """How many matches to search for: as many as take about the same time, however large the owner is."""
    growth = math.sqrt(MATCHES_AT / max(memory_count, 1))
    return MATCHES_ENOUGH * min(max(growth, 1.0), MATCHES_GROWTH_MAX)


def _conjoined(known: Terms, rarest_first: Sequence[int], counts: Weights, enough: float) -> list[_Search]:
    """Several frequent terms at once; nothing if even together they are in nearly every memory."""
    together: list[int] = []
    expected = float(known.memory_count)
    for place in rarest_first[:CONJOINED_MAX]:
        together.append(place)
        expected *= counts[place] / known.memory_count
        if expected <= enough:
            break
    if expected > enough * MATCHES_EXCESS:
        return []
    return [
        _Search(" & ".join(known.terms[place] for place in together), sum(1 << place for place in together))
    ]


def _search_weights(known: Terms, searches: Sequence[_Search]) -> list[float] | None:
    """What each search weighs; None lets the database weigh by what it counts."""
    if not known.is_kept:
        return None
    weights = _inverse(_estimated(known.counts, known.memory_count), known.memory_count).tolist()
    return [_weight(search.bits, weights) for search in searches]


def _weight(bits: int, weights: Sequence[float]) -> float:
    """What the terms of a bit field weigh together."""
    return float(sum(weight for place, weight in enumerate(weights) if bits >> place & 1))


def _estimated(counts: Sequence[int | None], total: int) -> Weights:
    """How many memories have each term; a term whose count is not kept is rare."""
    rare = max(1.0, STATISTICS_LEAST_SHARE * total)
    return np.array([rare if count is None else count for count in counts], float)


def _inverse(counts: Weights, total: int) -> Weights:
    weights: Weights = np.log1p((np.maximum(total - counts, 0) + 0.5) / (counts + 0.5))
    return weights


def _by_term(bits: int, searches: Sequence[_Search]) -> int:
    """A bit field by search, as one by term."""
    result = 0
    for place, search in enumerate(searches):
        if bits >> place & 1:
            result |= search.bits
    return result
