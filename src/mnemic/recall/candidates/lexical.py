"""Candidates by words: lexical search, rare words first. `lexical_score.py` says what a match is worth.

Without word statistics every term is searched, and counted on the way. With statistics, terms are searched
from the rarest on until enough matches are expected; where even the rarest term is too frequent, memories
that have several of the terms are searched.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase
from mnemic.db.id_arrays import Key
from mnemic.recall.candidates.limits import candidate_limit
from mnemic.recall.candidates.owner_lookup import OwnerLookup
from mnemic.recall.candidates.query_terms import QueryTerms
from mnemic.recall.lexical_score import Floats, sum_of_weights, term_weights
from mnemic.recall.request import Request
from mnemic.recall.stage_timer import StageTimer

STATISTICS_LEAST_SHARE = 0.0002
"""Statistics leave out numbers and codes in a smaller share of the memories; these are taken to be this
rare."""
# With statistics: how many matches to search for. A tenth of the memories is as good as more: of LoCoMo's
# answers among 7,000 other turns .774 were among the first ten with 1,000 matches, .773 with 3,000, .769 with
# 600; among 30,000 others .75 with 1,000, .77 with 2,000. An owner with more than `MATCHES_AT` memories
# gets `MATCHES_MIN`, so that searches take about the same time.
MATCHES_MIN = 1_000
MATCHES_SHARE = 0.1
MATCHES_AT = 100_000
MATCHES_EXCESS = 2.5
"""Search for up to this many times as many if even the rarest term has more than enough."""
CONJUNCTION_MAX = 4


@dataclass(frozen=True)
class LexicalMatches:
    """The terms of a query with their weights, and the memories that have some of them.

    `weights` and `shares` (of the owner's memories that have the term) go by term. `conversation_terms` says
    which terms a conversation has: bit n stands for term n.
    """

    terms: QueryTerms
    weights: Floats
    shares: Floats
    found: Sequence[Key]
    conversation_terms: Mapping[str, int]

    def weights_of(self, bit_fields: Sequence[int]) -> Floats:
        """The summed weight of the terms of each bit field; computed once for equal ones."""
        weights = self.weights.tolist()
        known = {bits: sum_of_weights(bits, weights) for bits in set(bit_fields)}
        return np.array([known[bits] for bits in bit_fields], float)

    def terms_in(self, bits: int) -> tuple[str, ...]:
        """The terms of a bit field."""
        return tuple(lexeme for place, lexeme in enumerate(self.terms.lexemes) if bits >> place & 1)


async def search_lexical(
    database: TenantDatabase, lookup: OwnerLookup, request: Request, timer: StageTimer
) -> LexicalMatches:
    """Memories with the query's words, best first."""
    terms = lookup.terms
    subqueries = _subqueries(terms) if "text" in request.techniques else ()
    if not subqueries:
        return _matches(terms, (), None)
    parameters = {
        **lookup.readable.parameters(request),
        **_search_parameters(terms, subqueries),
        "limit": candidate_limit(request),
    }
    with timer.measure("text"):
        (row,) = await database.read("recall.words", parameters)
    return _matches(terms, subqueries, row)


@dataclass(frozen=True)
class _Subquery:
    """One tsquery to search for, and the bits of the terms that it stands for."""

    tsquery: str
    bits: int


def _search_parameters(terms: QueryTerms, subqueries: Sequence[_Subquery]) -> dict[str, Any]:
    return {
        "searched": [subquery.tsquery for subquery in subqueries],
        "weights": _subquery_weights(terms, subqueries),
        "memory_total": terms.weighed_count,
        "mean_bytes": terms.mean_bytes,
    }


def _subquery_weights(terms: QueryTerms, subqueries: Sequence[_Subquery]) -> list[float] | None:
    """The weight of each subquery; None lets the database compute it from its own counts."""
    if not terms.has_statistics:
        return None
    weights = term_weights(_estimated_counts(terms, terms.counts), terms.memory_count) * terms.certainties
    weights = weights.tolist()
    return [sum_of_weights(subquery.bits, weights) for subquery in subqueries]


def _matches(terms: QueryTerms, subqueries: Sequence[_Subquery], row: Row | None) -> LexicalMatches:
    counts, found, conversation_terms = terms.counts, (), {}
    if row is not None and subqueries:
        counts = terms.counts if terms.has_statistics else row["counts"]
        found = row["found_ids"]
        conversation_terms = {
            conversation: _term_bits(bits, subqueries)
            for conversation, bits in zip(row["found_conversations"], row["conversation_terms"], strict=True)
        }
    estimated = _estimated_counts(terms, counts)
    weights = term_weights(estimated, terms.weighed_count) * terms.certainties
    shares = estimated / max(terms.weighed_count, 1)
    return LexicalMatches(terms, weights, shares, found, conversation_terms)


def _subqueries(terms: QueryTerms) -> list[_Subquery]:
    """Every term, or, with statistics, the rarest ones."""
    if not terms.has_statistics:
        return [_Subquery(tsquery, 1 << place) for place, tsquery in enumerate(terms.tsqueries)]
    counts = _estimated_counts(terms, terms.counts)
    enough = _enough_matches(terms.memory_count)
    rarest_first = sorted(range(len(terms.tsqueries)), key=lambda place: counts[place])
    chosen: list[int] = []
    expected = 0.0
    for place in rarest_first:
        if chosen and expected + counts[place] > enough:
            break
        chosen.append(place)
        expected += counts[place]
    if expected <= enough * MATCHES_EXCESS:
        return [_Subquery(terms.tsqueries[place], 1 << place) for place in chosen]
    return _conjunction(terms, rarest_first, counts, enough)


def _enough_matches(memory_count: int) -> float:
    """How many matches to search for: a share of the memories, less of many, for which each costs more."""
    affordable = MATCHES_MIN * math.sqrt(MATCHES_AT / max(memory_count, 1))
    return max(MATCHES_MIN, min(MATCHES_SHARE * memory_count, affordable))


def _conjunction(
    terms: QueryTerms, rarest_first: Sequence[int], counts: Floats, enough: float
) -> list[_Subquery]:
    """Several frequent terms joined by AND; nothing if even together they match nearly every memory."""
    joined: list[int] = []
    expected = float(terms.memory_count)
    for place in rarest_first[:CONJUNCTION_MAX]:
        joined.append(place)
        expected *= counts[place] / terms.memory_count
        if expected <= enough:
            break
    if expected > enough * MATCHES_EXCESS:
        return []
    tsquery = " & ".join(terms.tsqueries[place] for place in joined)
    return [_Subquery(tsquery, sum(1 << place for place in joined))]


def _estimated_counts(terms: QueryTerms, counts: Sequence[int | None]) -> Floats:
    """How many memories have each term; a term without a count is rare."""
    rare = max(1.0, STATISTICS_LEAST_SHARE * terms.memory_count)
    return np.array([rare if count is None else count for count in counts], float)


def _term_bits(bits: int, subqueries: Sequence[_Subquery]) -> int:
    """Convert a bit field by subquery into one by term."""
    result = 0
    for place, subquery in enumerate(subqueries):
        if bits >> place & 1:
            result |= subquery.bits
    return result
