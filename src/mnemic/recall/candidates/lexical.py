"""Candidates by words: lexical search, rare words first. `lexical_score.py` says what a match is worth.

Without word statistics every term is searched, and counted on the way. With statistics, the database chooses
the terms that find enough (mnemic.searched_terms). Mostly the statement that reads the terms has searched,
too; for corrected words, in a branch and for the reader of a grant it takes a statement of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
rare (as in mnemic.searched_terms)."""


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
    if "text" not in request.techniques or not terms.tsqueries:
        return _matches(terms, None)
    if terms.search is not None:
        return _matches(terms, terms.search)
    parameters = {
        **lookup.readable.parameters(request),
        "terms": list(terms.tsqueries),
        "counts": list(terms.counts) if terms.has_statistics else None,
        "certainties": terms.certainties.tolist(),
        "memory_count": terms.memory_count,
        "memory_total": terms.weighed_count,
        "mean_bytes": terms.mean_bytes,
        "limit": candidate_limit(request),
    }
    with timer.measure("text"):
        (row,) = await database.read("recall.words_by_rarity", parameters)
    return _matches(terms, row)


def _matches(terms: QueryTerms, row: Row | None) -> LexicalMatches:
    """What a search found, by term; `row` is None if nothing was searched."""
    counts, found, conversation_terms = terms.counts, (), {}
    if row is not None and row["term_bits"]:
        counts = terms.counts if terms.has_statistics else row["match_counts"]
        found = row["found_ids"]
        conversation_terms = {
            conversation: _term_bits(bits, row["term_bits"])
            for conversation, bits in zip(row["found_conversations"], row["conversation_terms"], strict=True)
        }
    estimated = _estimated_counts(terms, counts)
    weights = term_weights(estimated, terms.weighed_count) * terms.certainties
    shares = estimated / max(terms.weighed_count, 1)
    return LexicalMatches(terms, weights, shares, found, conversation_terms)


def _estimated_counts(terms: QueryTerms, counts: Sequence[int | None]) -> Floats:
    """How many memories have each term; a term without a count is rare."""
    rare = max(1.0, STATISTICS_LEAST_SHARE * terms.memory_count)
    return np.array([rare if count is None else count for count in counts], float)


def _term_bits(bits: int, term_bits: Sequence[int]) -> int:
    """Convert a bit field by searched tsquery into one by term."""
    result = 0
    for place, bits_of_place in enumerate(term_bits):
        if bits >> place & 1:
            result |= bits_of_place
    return result
