"""Correcting the words of a query by the words of an owner's memories (`recall.spelling`).

This takes two statements more, which only a query with an unknown word needs: one reads the owner's
vocabulary, the other parses the corrected query. For the reader of a grant the vocabulary is that of the
granted memories, and what others have is not asked.
"""

from collections.abc import Sequence
from dataclasses import replace

from mnemic.db.database import TenantDatabase
from mnemic.recall.candidates.query_terms import COUNTED_MAX, QueryTerms, foreign_language, read_query_terms
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.request import Request
from mnemic.recall.spelling import Suspect, Vocabulary, corrected, stem_lengths

VOCABULARY_MEMORIES_MAX = COUNTED_MAX
"""Memories whose words are read, of an owner without word statistics."""
VOCABULARY_WORDS_MAX = 50_000


async def correct_terms(
    database: TenantDatabase,
    readable: ReadableOwner,
    request: Request,
    analysis: QueryAnalysis,
    terms: QueryTerms,
    suspects: Sequence[Suspect],
    is_confined: bool,
) -> QueryTerms:
    """The terms of the query with its typing errors corrected; the given ones if there are none."""
    doubtful = [suspect for suspect in suspects if is_confined or suspect.word in terms.unknown]
    terms = replace(terms, unknown=tuple(suspect.word for suspect in doubtful))
    stems = await _read_vocabulary(database, readable, request, doubtful, is_confined)
    is_english = foreign_language(analysis.topic) is None
    corrections = Vocabulary(stems, with_common_words=is_english).corrections(doubtful)
    if not corrections:
        return terms
    rewritten = replace(analysis, lexical_text=corrected(analysis.lexical_text, corrections))
    known = await read_query_terms(database, readable, request, rewritten, searches=False)
    return terms.corrected_by(known, corrections)


async def _read_vocabulary(
    database: TenantDatabase,
    readable: ReadableOwner,
    request: Request,
    suspects: Sequence[Suspect],
    is_confined: bool,
) -> list[str]:
    shortest, longest = stem_lengths(suspects)
    parameters = readable.parameters(request) | {
        "shortest": shortest,
        "longest": longest,
        "memories_max": VOCABULARY_MEMORIES_MAX,
        "words_max": VOCABULARY_WORDS_MAX,
    }
    if not is_confined:
        parameters["granted"] = None
    (row,) = await database.read("recall.vocabulary", parameters)
    return (row["words"] or "").split(" ")
