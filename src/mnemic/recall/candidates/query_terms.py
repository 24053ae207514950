"""The terms of a query, the statistics that the database keeps about them, and other facts about the owner.

A term is a word in all of its forms ("bought" and "buy", "children" and "child": mnemic.word_forms; in
another language than English all words that begin with its stem: mnemic.query_words) or a quoted
phrase. Owners with more memories than `STATISTICS_MIN_MEMORIES` have word statistics: in how many
memories each word occurs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import numpy as np

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase
from mnemic.db.vectors import VectorTable
from mnemic.recall.candidates.limits import candidate_limit
from mnemic.recall.lexical_score import Floats
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.request import Request
from mnemic.recall.spelling import Correction, Suspect
from mnemic.text_analysis.languages import Language, detect_language

TERMS_MAX = 32
STATISTICS_MIN_MEMORIES = 2_000
STATISTICS_AGE = timedelta(days=1)
"""Older statistics are refreshed in the background."""
COUNTED_MAX = 2 * STATISTICS_MIN_MEMORIES
"""Without statistics, the database counts an owner's memories up to this number."""
CORRECTED_CERTAINTY = 0.85
GRANTED_PRIOR_MEMORIES = 20
"""Memories without any term of the query that are added to those of a grant. A grant may cover one memory, in
which no term would be rare."""


@dataclass(frozen=True)
class BranchView:
    """How to read in a branch: each of its parents as of a time (mnemic.branch_view)."""

    branch: str
    past_channels: tuple[str, ...]
    past_times: tuple[datetime, ...]


@dataclass(frozen=True)
class QueryTerms:
    """The terms of a query and what is known before the search.

    `tsqueries` has one PostgreSQL tsquery per term, with all forms of the word; `counts` the number of
    memories that have the term, None where statistics do not say; `mean_bytes` the mean length of the
    owner's memories, None without statistics. `vector_table` holds the vectors of the model that serves the
    tenant. `unknown` are the suspect words of the query that no memory has (`recall.spelling`), `corrections`
    the words that some of them are taken for, and `corrected_places` the terms that come from these.
    `prior_count` is added
    to `memory_count` to tell how rare terms are. `branch` says how to read if a channel of the request is a
    branch; `has_branches`, which only a grant asks for, whether the giver has any.
    `search` has the memories that the same statement found by these terms, None if it did not search.
    """

    lexemes: tuple[str, ...]
    tsqueries: tuple[str, ...]
    counts: tuple[int | None, ...]
    memory_count: int
    mean_bytes: float | None
    has_statistics: bool
    is_stale: bool
    has_entities: bool
    has_grants: bool
    vector_table: VectorTable | None
    unknown: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = ()
    corrected_places: frozenset[int] = frozenset()
    prior_count: int = 0
    branch: BranchView | None = None
    has_branches: bool = False
    search: Row | None = field(default=None, compare=False, repr=False)

    @property
    def weighed_count(self) -> int:
        """The number of memories that the weights of terms are computed with."""
        return self.memory_count + self.prior_count

    @property
    def certainties(self) -> Floats:
        """What the weight of each term is multiplied by: less than 1 for a corrected one."""
        places = range(len(self.lexemes))
        return np.array([CORRECTED_CERTAINTY if place in self.corrected_places else 1.0 for place in places])

    @property
    def lacks_statistics(self) -> bool:
        """Whether statistics should be made or refreshed for this owner."""
        is_large = self.memory_count > STATISTICS_MIN_MEMORIES
        return self.is_stale or (not self.has_statistics and is_large)

    def corrected_by(self, corrected: "QueryTerms", corrections: Sequence[Correction]) -> "QueryTerms":
        """The terms of the corrected query; those that this query lacks are marked."""
        places = (place for place, lexeme in enumerate(corrected.lexemes) if lexeme not in self.lexemes)
        return replace(
            corrected,
            unknown=self.unknown,
            corrections=tuple(corrections),
            corrected_places=frozenset(places),
        )

    def among_granted(self, memory_count: int) -> "QueryTerms":
        """The same terms, to be counted among the granted memories of the owner, without its statistics."""
        return replace(
            self,
            counts=(None,) * len(self.counts),
            memory_count=memory_count,
            mean_bytes=None,
            has_statistics=False,
            is_stale=False,
            has_entities=False,
            prior_count=GRANTED_PRIOR_MEMORIES,
        )


async def read_query_terms(
    database: TenantDatabase,
    readable: ReadableOwner,
    request: Request,
    analysis: QueryAnalysis,
    suspects: Sequence[Suspect] = (),
    *,
    searches: bool,
) -> QueryTerms:
    """Have the database parse the query, look up the statistics of its terms, and look for the suspects.

    If it `searches`, it looks for memories with these terms in the same statement.
    """
    parameters = {
        **readable.parameters(request),
        "channels": readable.branch_candidates,
        "query": analysis.lexical_text,
        "phrases": list(analysis.phrases),
        "count_max": COUNTED_MAX,
        "statistics_age": STATISTICS_AGE,
        "suspects": [suspect.word for suspect in suspects],
        "language": foreign_language(analysis.topic),
        "terms_max": TERMS_MAX,
        "searches": searches,
        "limit": candidate_limit(request),
    }
    (row,) = await database.read("recall.terms", parameters)
    return _query_terms(row, analysis)


def foreign_language(text: str) -> Language | None:
    """The language of a text, None for English and if it is unknown."""
    language = detect_language(text)
    return language if language != "english" else None


def _query_terms(row: Row, analysis: QueryAnalysis) -> QueryTerms:
    phrases = [
        (phrase, tsquery)
        for phrase, tsquery in zip(analysis.phrases, row["phrase_terms"], strict=True)
        if tsquery is not None  # A phrase of stopwords has no indexed word.
    ]
    return QueryTerms(
        lexemes=(*row["lexemes"][:TERMS_MAX], *(phrase for phrase, _ in phrases)),
        tsqueries=(*row["terms"][:TERMS_MAX], *(tsquery for _, tsquery in phrases)),
        counts=(*row["counts"][:TERMS_MAX], *(None for _ in phrases)),
        memory_count=row["counted"] if row["kept_count"] is None else row["kept_count"],
        mean_bytes=row["mean_bytes"],
        has_statistics=row["kept_count"] is not None,
        is_stale=row["is_stale"],
        has_entities=row["has_entities"],
        has_grants=row["has_grants"],
        vector_table=VectorTable(row["model"], row["dimensions"], row["table_name"])
        if row["model"]
        else None,
        unknown=tuple(row["unknown"]),
        branch=BranchView(row["branch"], tuple(row["past_channels"]), tuple(row["past_times"]))
        if row["branch"] is not None
        else None,
        has_branches=row["has_branches"],
        search=row if row["term_bits"] is not None else None,
    )
