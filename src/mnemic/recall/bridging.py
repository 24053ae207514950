"""Joins: two memories that answer a query together, because one names what the other is about.

"Where does my husband work?" needs "her husband Tobias" and "Tobias works at the Pasteur". The second memory
shares no word with the query, but a rare one, a name, with the first. If a query looks like a join, recall
takes such **bridge terms** from the best candidates: names and rare words that the query lacks, and names
beside a relation that the query names (`text_analysis/relations.py`). One more statement per owner searches
for them, and the part `bridge` of the ranking rewards memories that share one with a better candidate.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from mnemic.db.database import TenantDatabase
from mnemic.db.id_arrays import Key
from mnemic.recall.candidates.bridged import search_bridged
from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.lexical_score import Floats
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.query_embedding import QueryEmbedding
from mnemic.recall.ranking import Ranking, rank
from mnemic.recall.request import Request
from mnemic.recall.stage_timer import StageTimer
from mnemic.text_analysis.name_matching import EVERYDAY_WORDS
from mnemic.text_analysis.relations import KIND_OF, RELATION_WORDS, names_beside, relations_in

BEST_MAX = 8
"""The best candidates of each owner, from which bridge terms are taken."""
TERMS_MAX = 12
"""Bridge terms that are searched for."""
OWNERS_MAX = 4
"""Owners whose memories are searched for bridge terms."""
TEXT_MAX_CHARACTERS = 600
RARE_MAX = 3
"""A word in more candidates than this is no bridge term, unless it is a name."""
NAME_MAX = 8
"""A name in more candidates is what many of them are about, so it joins none."""
WORD_MIN_CHARACTERS = 5
RELATION_VALUE = 2.0
NAME_VALUE = 1.0
VALUE_MAX = 2.0
WORD_VALUE = 0.5
SUPPORT_DECAY = 0.8
"""How much less the next best candidate supports a bridge."""

_WORD = re.compile(r"[^\W_][\w’'-]*")
# A name inside of a query: capitalised words in a row, without those of the calendar.
_CALENDAR = (
    "Mon|Tues|Wednes|Thurs|Fri|Satur|Sunday|Jan|Feb|March|April|May|June|July|August|Sept|Octo|Novem|Decem"
)
_SEPARATE_NAME = re.compile(
    rf"(?<=\w )(?!{_CALENDAR})[A-ZÀ-ÖØ-Þ][\w-]{{1,30}}(?: [A-ZÀ-ÖØ-Þ][\w-]{{1,30}}){{0,5}}"
)
# A capital inside of a sentence.
_NAME = re.compile(r"(?<=[^\W_][ ,’'(]) ?((?-i:[A-ZÀ-ÖØ-Þ])[\w’'-]+)")
_DETERMINER = r"(?:the|a|an|that|those|my|our|her|his|their|la|el|las|los|die|der|das|den|dem|le|les)"
_PRONOUN = r"(?:i|i'm|i've|we|we're|you|she|he|they|she's|he's|they're)"
_JOIN = re.compile(
    rf"\b{_DETERMINER} (?:[\w’'-]{{1,30}} ){{1,3}}?(?:that|who|whose|which|where|when|{_PRONOUN}|que|quien"
    rf"|cuyo|cuya|qui|dont|où)\b"
    rf"|\b(?:of|for|with|about|over|to|from|at|in) what\b|\bthe one\b"
    rf"|[.;!?] {{1,3}}\w|,? (?:and|but|y|und|et) (?:what|who|where|when|how|why|which|qué|quién|dónde"
    rf"|cuándo|cómo"
    rf"|was|wer|wo|wann|wie|que|qui|où)\b"
    rf"|, (?:who|what|where|when|how|which)\b|\b[\w’'-]{{1,30}}['’]s \w{{1,30}}(?:['’]s| of| that)\b",
    re.IGNORECASE,
)


def looks_like_join(query: str) -> bool:
    """Whether a query describes somebody or something by another fact, or asks about two of them."""
    if _JOIN.search(query) or not RELATION_WORDS.isdisjoint(_words(KIND_OF.sub("", query))):
        return True
    return len(_SEPARATE_NAME.findall(query)) > 1


async def bridge_joins(
    database: TenantDatabase,
    request: Request,
    analysis: QueryAnalysis,
    pools: Sequence[CandidatePool],
    rankings: Sequence[Ranking],
    embedding: QueryEmbedding | None,
    timer: StageTimer,
) -> tuple[Sequence[CandidatePool], Sequence[Ranking]]:
    """Pools and rankings with memories that share bridge terms, if the query looks like a join."""
    if analysis.overview is not None or not looks_like_join(request.query):
        return pools, rankings
    with timer.measure("bridge"):
        bridged = await _bridged(database, request, pools, rankings, embedding)
        now_s = request.moment.timestamp()
        return bridged, [
            ranking if extended is pool else rank(extended, analysis, now_s)
            for pool, extended, ranking in zip(pools, bridged, rankings, strict=True)
        ]


async def _bridged(
    database: TenantDatabase,
    request: Request,
    pools: Sequence[CandidatePool],
    rankings: Sequence[Ranking],
    embedding: QueryEmbedding | None,
) -> Sequence[CandidatePool]:
    """The pools with memories that have the names, and for each candidate how well it is bridged."""
    words = _WordsOfTexts()
    bridges = [
        bridge
        for pool, ranking in zip(pools, rankings, strict=True)
        for bridge in _bridges(pool, ranking, request.query, words)
    ]
    names = _names(bridges)
    extended = list(pools)
    if names and "text" in request.techniques:
        for place, pool in enumerate(pools[:OWNERS_MAX]):
            if pool.lexical.terms.memory_count > len(pool):
                extended[place] = await search_bridged(database, pool, request, names, embedding)
    return [
        _with_values(pool, known, _values(pool, bridges, words))
        for pool, known in zip(extended, pools, strict=True)
    ]


def _with_values(pool: CandidatePool, known: CandidatePool, values: Floats) -> CandidatePool:
    """The pool with the values of its bridges; the known pool if there are none and nothing was added."""
    return known if pool is known and not values.any() else replace(pool, bridges=values)


class _WordsOfTexts(dict[str, frozenset[str]]):
    """The distinct words of texts, each text split once."""

    def __missing__(self, text: str) -> frozenset[str]:
        words = self[text] = frozenset(_words(text))
        return words


@dataclass(frozen=True)
class _Bridge:
    """A good candidate and its bridge terms; `support` is more for a better candidate."""

    key: Key
    terms: Mapping[str, float]
    support: float


def _names(bridges: Sequence[_Bridge]) -> list[str]:
    """The names among the bridge terms, those of the best candidates first."""
    best: dict[str, float] = {}
    for bridge in bridges:
        for term, value in bridge.terms.items():
            if value >= NAME_VALUE:
                best[term] = max(best.get(term, 0.0), value * bridge.support)
    return sorted(best, key=lambda term: (-best[term], term))[:TERMS_MAX]


def _bridges(pool: CandidatePool, ranking: Ranking, query: str, words: _WordsOfTexts) -> list[_Bridge]:
    """The bridges of the candidates with a relation that the query names, and of the best candidates."""
    texts = pool.texts
    known = RELATION_WORDS.union(_words(query))
    order = np.argsort(-ranking.fused, kind="stable").tolist()
    found: list[tuple[int, Mapping[str, float]]] = []
    if relations := relations_in(query):
        beside = ((index, {_key(name) for name in names_beside(texts[index], relations)}) for index in order)
        named = [(index, dict.fromkeys(names - known, RELATION_VALUE)) for index, names in beside]
        found += [(index, terms) for index, terms in named if terms][:BEST_MAX]
    best = [texts[index] for index in order[:BEST_MAX]]
    counts = Counter(chain.from_iterable(words[text] for text in texts))
    names = _names_in(best, texts, words)
    found += [(index, _terms(texts[index], known, names, counts)) for index in order[:BEST_MAX]]
    return [
        _Bridge(pool.keys[index], terms, SUPPORT_DECAY**place) for place, (index, terms) in enumerate(found)
    ]


def _names_in(best: Sequence[str], texts: Sequence[str], words: _WordsOfTexts) -> set[str]:
    """The capitalised words of the best texts that any text has inside of a sentence."""
    names = {_key(name) for text in best for name in _NAME.findall(text[:TEXT_MAX_CHARACTERS])}
    found = chain.from_iterable(_WORD.findall(text[:TEXT_MAX_CHARACTERS]) for text in best)
    doubtful = {_key(word) for word in found if word[:1].isupper()} - names - EVERYDAY_WORDS
    for text in texts if doubtful else ():
        if not doubtful.isdisjoint(words[text]):
            names.update(_key(name) for name in _NAME.findall(text[:TEXT_MAX_CHARACTERS]))
    return names


def _terms(
    text: str, known: AbstractSet[str], names: AbstractSet[str], counts: Mapping[str, int]
) -> dict[str, float]:
    """Names and rare words of a candidate that the query lacks, with their values."""
    terms: dict[str, float] = {}
    for word in _WORD.findall(text[:TEXT_MAX_CHARACTERS]):
        key = _key(word)
        if key in known or key in EVERYDAY_WORDS:
            continue
        if word[:1].isupper() and key in names:
            if counts[key] <= NAME_MAX:
                terms[key] = NAME_VALUE
        elif len(key) >= WORD_MIN_CHARACTERS and key.isalpha() and counts[key] <= RARE_MAX:
            terms.setdefault(key, WORD_VALUE)
    return terms


def _values(pool: CandidatePool, bridges: Sequence[_Bridge], words: _WordsOfTexts) -> Floats:
    """For each candidate the value of its best bridge to another candidate."""
    values = [0.0] * len(pool)
    shareable = frozenset[str]().union(*(bridge.terms for bridge in bridges))
    for index, text in enumerate(pool.texts):
        shared = shareable.intersection(words[text])
        if not shared:
            continue
        for bridge in bridges:
            terms = shared.intersection(bridge.terms)
            if terms and pool.keys[index] != bridge.key:
                value = bridge.support * min(VALUE_MAX, sum(bridge.terms[term] for term in terms))
                values[index] = max(values[index], value)
    return np.array(values)


def _words(text: str) -> list[str]:
    searched = text[:TEXT_MAX_CHARACTERS]
    # Only letters beyond ASCII can change into several when case is folded, some of which are no letters.
    if searched.isascii():
        return [word[:-2] if word[-2:] == "'s" else word for word in _WORD.findall(searched.lower())]
    return [_key(word) for word in _WORD.findall(searched)]


def _key(word: str) -> str:
    return word.casefold().removesuffix("'s").removesuffix("’s")
