"""An overview, not a search: the memories that best tell what is known about the owner, a name, a topic.

Memories are selected one after the other, each time the one that adds most. What it adds is a sum of named
parts, which `explain` shows:

- **facet**: what it says about a person; name, home, family, work and health come before trivia
  (`text_analysis/personal_facts.py`). For a topic: whether it says what the topic asks for;
- **subject**: whether it is about the owner, or mentions the name;
- **category**: facts and preferences before events, events before documents; for a topic, the categories
  that it asks for;
- **meaning** and **words** (for a topic): how well it matches the query, as in `ranking.py`;
- **recency**, **salience**, **confidence**, **anchored**, **tense**: as in `ranking.py`;
- **variety**: less for a memory that is similar to a selected one, or of the same facet as many of them
  (maximal marginal relevance).

A memory that does not mention the name is no candidate, unless the name is that of the owner's main subject:
then memories without a subject of their own ("Has a cashew allergy") are about it, too.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mnemic.recall.candidates.outdated import LIKELY_CERTAINTY
from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.lexical_score import Floats
from mnemic.recall.overview_question import OverviewQuestion
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.ranking import Ranking, own_evidence, rank
from mnemic.recall.request import Request
from mnemic.text_analysis.personal_facts import Facet, facets_of, names_relative

SEARCHED_LIMIT = 200
"""An overview is selected from as many candidates as a recall of this limit has."""
SELECTED_MAX = 100
"""Variety is computed for this many memories, the first ones."""
MAIN_SUBJECT_SHARE = 0.1
MAIN_SUBJECT_MEMORIES = 2
TEXT_MAX_CHARACTERS = 600
"""How much of a memory is read to see what it is similar to."""
RECENCY_HALF_LIFE_S = 60 * 86_400.0

FACET_VALUES: Mapping[Facet, float] = {
    "identity": 3.0,
    "home": 2.2,
    "people": 2.0,
    "work": 2.0,
    "health": 2.0,
    "preferences": 1.2,
    "style": 1.0,
    "expertise": 1.2,
    "habits": 1.2,
    "current": 0.8,
}
RELATIVE_VALUE = 0.5
"""Added for a relative or a partner, who tell more about a person than a dentist does."""
ASKED_FACET_VALUE = 3.0
ASKED_CATEGORY_VALUE = 3.0
CATEGORY_VALUES: Mapping[str, float] = {
    "factual": 0.4,
    "preference": 0.3,
    "behavioral": 0.2,
    "episodic": -0.4,
    "reference": -1.0,
}
SUBJECT_VALUE = 1.0
SIMILARITY_COST = 2.5
REPEATED_FACET_COST = 0.5
REPEATED_HOME_COST = 1.5
"""A person has one home: an older memory about a home is probably outdated."""
WEIGHTS: Mapping[str, float] = {
    "meaning": 0.7,
    "words": 0.3,
    "recency": 0.8,
    "salience": 2.0,
    "confidence": 2.0,
    "anchored": 1.0,
    "tense": 2.0,
}
EVIDENCE_MAX = 4.0

_FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|our|us|the user|user|yo|me|mi|mis|soy|estoy|tengo|ich|mein\w*"
    r"|mir|mich|wir|je|j['’]|moi|mon|ma|mes|nous)\b",
    re.IGNORECASE,
)
_FIRST_WORDS = re.compile(r"\W*((?:[^\W\d_][\w’'-]*\s*){1,2})")
_WORD = re.compile(r"\w+")


def widened(request: Request, analysis: QueryAnalysis) -> Request:
    """The request with more candidates and without neighbours if an overview is asked for."""
    if analysis.overview is None:
        return request
    return replace(
        request, limit=max(request.limit, SEARCHED_LIMIT), techniques=request.techniques - {"neighbours"}
    )


def overview_pools(
    pools: Sequence[CandidatePool], analysis: QueryAnalysis
) -> tuple[Sequence[CandidatePool], QueryAnalysis]:
    """The candidates that the overview is about. If there are none, all of them, and no overview any more.

    "Me" is the owner who asks, so shared memories are not about it. A shared memory is about its own owner.
    """
    question = analysis.overview
    if question is None:
        return pools, analysis
    pools = [_current(pool) for pool in pools]
    if question.focus == "owner":
        kept = [pool for pool in pools if pool.readable.grant_id is None]
    elif question.focus == "entity":
        kept = [pool.taking(_about_name(pool, question.name or "")) for pool in pools]
    else:
        kept = [pool for pool in pools if _answers_topic(pool, question)]
    return (kept, analysis) if any(map(len, kept)) else (pools, replace(analysis, overview=None))


def _current(pool: CandidatePool) -> CandidatePool:
    """The pool without candidates that are probably outdated."""
    marks = pool.outdated
    outdated = {index for index in marks if marks[index].certainty >= LIKELY_CERTAINTY}
    return pool.taking([index for index in range(len(pool)) if index not in outdated]) if outdated else pool


def _answers_topic(pool: CandidatePool, question: OverviewQuestion) -> bool:
    """Whether a pool has anything of the kind that a topic asks for; anything at all for "this project"."""
    return question.is_own or any(
        question.facets.intersection(facets) or category in question.categories
        for facets, category in zip(_facets(pool), _categories(pool), strict=True)
    )


def rank_pools(pools: Sequence[CandidatePool], analysis: QueryAnalysis, now_s: float) -> Sequence[Ranking]:
    """Rank each pool for a search or, if the query asks for one, for an overview."""
    ranked = rank if analysis.overview is None else rank_overview
    return [ranked(pool, analysis, now_s) for pool in pools]


def rank_overview(pool: CandidatePool, analysis: QueryAnalysis, now_s: float) -> Ranking:
    """Order the candidates as they are selected; `fused` is what each added when it was selected."""
    question = analysis.overview or OverviewQuestion("owner")
    facets = _facets(pool)
    age = np.maximum(now_s - pool.happened_at_s, 0) / RECENCY_HALF_LIFE_S
    parts = {
        "facet": _facet_values(pool, facets, question),
        "subject": _subject_values(pool, question),
        "category": _category_values(pool, question),
        "recency": WEIGHTS["recency"] * np.exp2(-age),
        "salience": WEIGHTS["salience"] * (pool.saliences + pool.usefulnesses - 1.0),
        "confidence": WEIGHTS["confidence"] * (pool.confidences - 1.0),
        "anchored": WEIGHTS["anchored"] * pool.anchored,
        "tense": -WEIGHTS["tense"] * np.abs(pool.tenses),
    }
    if question.focus == "topic":
        evidence = own_evidence(pool)
        parts |= {
            name: WEIGHTS[name] * np.clip(evidence[name], -EVIDENCE_MAX, EVIDENCE_MAX)
            for name in ("meaning", "words")
        }
    parts["variety"] = _variety(sum(parts.values(), np.zeros(len(pool))), _Words(pool.texts), facets)
    return Ranking(sum(parts.values(), np.zeros(len(pool))), parts)


def _variety(values: Floats, words: "_Words", facets: Sequence[tuple[Facet, ...]]) -> Floats:
    """What similar memories that were selected before take from each one."""
    nearest, costs, selected = np.zeros(len(values)), np.zeros(len(values)), np.zeros(len(values), bool)
    names, main = np.unique([each[0] if each else "" for each in facets], return_inverse=True)
    repeated = np.zeros(len(names))
    by_facet = np.where(names == "home", REPEATED_HOME_COST, REPEATED_FACET_COST)
    for _ in range(min(len(values), SELECTED_MAX)):
        open_costs = -SIMILARITY_COST * nearest - (by_facet * repeated)[main]
        costs = np.where(selected, costs, open_costs)
        best = int(np.argmax(np.where(selected, -np.inf, values + costs)))
        selected[best] = True
        repeated[main[best]] += 1
        nearest = np.maximum(nearest, words.similarities(best))
    return costs


def _facet_values(
    pool: CandidatePool, facets: Sequence[tuple[Facet, ...]], question: OverviewQuestion
) -> Floats:
    if question.focus == "topic":
        return np.array(
            [ASKED_FACET_VALUE * bool(question.facets.intersection(each)) for each in facets], float
        )
    values = [FACET_VALUES[each[0]] if each else 0.0 for each in facets]
    relatives = [
        RELATIVE_VALUE * (bool(each) and each[0] == "people" and names_relative(text))
        for each, text in zip(facets, pool.texts, strict=True)
    ]
    return np.add(values, relatives)


def _category_values(pool: CandidatePool, question: OverviewQuestion) -> Floats:
    if question.focus == "topic" and (question.categories or question.facets):
        return np.array(
            [ASKED_CATEGORY_VALUE * (each in question.categories) for each in _categories(pool)], float
        )
    return np.array([CATEGORY_VALUES.get(each, 0.0) for each in _categories(pool)], float)


def _subject_values(pool: CandidatePool, question: OverviewQuestion) -> Floats:
    """More for memories about the owner or the name, less for what the assistant said."""
    if question.focus == "entity":
        values = _mentions(pool, question.name or "").astype(float)
    elif question.focus == "owner":
        main = main_subject(pool)
        mentioned = _mentions(pool, main) if main else np.zeros(len(pool), bool)
        own = np.array([_FIRST_PERSON.search(text) is not None for text in pool.texts], bool)
        values = (mentioned | own).astype(float)
    else:
        values = np.zeros(len(pool))
    said = np.array([float(role in ("assistant", "system", "tool")) for role in pool.roles], float)
    subject: Floats = SUBJECT_VALUE * (values - 2 * said)
    return subject


def _about_name(pool: CandidatePool, name: str) -> list[int]:
    """The candidates about a name; all that an owner of this name shares."""
    is_owner = _is_same(pool.readable.owner, name)
    if is_owner and pool.readable.grant_id is not None:
        return list(range(len(pool)))
    mentions = _mentions(pool, name)
    if pool.readable.grant_id is None and (is_owner or _is_same(main_subject(pool) or "", name)):
        mentions |= np.array([not _names_another(text, name) for text in pool.texts], bool)
    return np.flatnonzero(mentions).tolist()


def main_subject(pool: CandidatePool) -> str | None:
    """The name with which most memories begin, if enough do; in the memories of one person it is hers."""
    starts = Counter(
        word
        for text in pool.texts
        if (found := _FIRST_WORDS.match(text)) and (word := _name_at(found[1].split()[0]))
    )
    if not starts:
        return None
    word, count = starts.most_common(1)[0]
    return word if count >= max(MAIN_SUBJECT_MEMORIES, MAIN_SUBJECT_SHARE * _facts(pool)) else None


def _facts(pool: CandidatePool) -> int:
    """How many candidates are not turns of a conversation, which begin with anything."""
    return sum(conversation is None for conversation in pool.conversations)


def _name_at(word: str) -> str | None:
    """A word that begins a sentence, if it looks like a name: a capital, and no common beginning."""
    name = word.removesuffix("'s").removesuffix("’s")
    is_name = name[:1].isupper() and len(name) > 2 and name.isalpha() and name.casefold() not in _STARTERS
    return name if is_name else None


_STARTERS_TEXT = """
the this that these those there their they she her his him has had have was were will would with when what
who how why where
and but for from not never always only does did don are can could should may must since after before during
one two three
first second next last new old our your its all any each every some most user wants likes loves hates
prefers needs uses lives
works runs drives drinks eats plays reads speaks keeps finds gets goes takes makes met moved bought sold
sent got call called
mail email note session house rule los las una unos unas del con por para que como muy mis sus tus der die
das ein eine und
mit von auf bei les des une mon mes dans avec pour sur
"""
_STARTERS = frozenset(_STARTERS_TEXT.split())


def _names_another(text: str, name: str) -> bool:
    """Whether a memory begins with the full name of somebody else; one capital alone may be any word."""
    found = _FIRST_WORDS.match(text)
    words = found[1].split() if found else []
    first = _name_at(words[0]) if len(words) > 1 and words[1][:1].isupper() else None
    return first is not None and not _is_same(first, name)


def _mentions(pool: CandidatePool, name: str) -> npt.NDArray[np.bool_]:
    """Which candidates contain the first word of a name, or were said by somebody of that name."""
    words = _WORD.findall(name.casefold())
    if not words:
        return np.zeros(len(pool), bool)
    pattern = re.compile(rf"\b{re.escape(words[0])}\b", re.IGNORECASE)
    return np.array(
        [
            pattern.search(text) is not None or (speaker is not None and pattern.search(speaker) is not None)
            for text, speaker in zip(pool.texts, pool.names, strict=True)
        ],
        bool,
    )


def _is_same(name: str, other: str) -> bool:
    """Whether two names begin with the same word."""
    first, second = _WORD.findall(name.casefold()), _WORD.findall(other.casefold())
    return bool(first) and bool(second) and first[0] == second[0]


def _categories(pool: CandidatePool) -> list[str]:
    return [row["category"][place] for row, place in pool.origins]


def _facets(pool: CandidatePool) -> list[tuple[Facet, ...]]:
    return [facets_of(text, category) for text, category in zip(pool.texts, _categories(pool), strict=True)]


class _Words:
    """The distinct words of candidates, rare ones weighing more (TF-IDF), to compare one with all others."""

    def __init__(self, texts: Sequence[str]) -> None:
        distinct = [dict.fromkeys(_WORD.findall(text[:TEXT_MAX_CHARACTERS].casefold())) for text in texts]
        columns: dict[str, int] = {}
        words = np.array([columns.setdefault(word, len(columns)) for each in distinct for word in each], int)
        rows = np.repeat(np.arange(len(texts)), [len(each) for each in distinct])
        counts = np.bincount(words)
        weights = np.log(len(texts) / counts)[words]
        norms = np.sqrt(np.bincount(rows, weights**2, len(texts)))
        weights = weights / np.maximum(norms, np.finfo(float).tiny)[rows]
        # A word of one candidate makes it similar to itself only.
        is_shared = counts[words] > 1
        self._words, self._rows, self._weights = words[is_shared], rows[is_shared], weights[is_shared]
        self._starts = np.searchsorted(self._rows, np.arange(len(texts) + 1))
        self._own_weights = np.zeros(len(columns))

    def similarities(self, candidate: int) -> Floats:
        """The cosine of every candidate's words with those of this one."""
        own = slice(self._starts[candidate], self._starts[candidate + 1])
        self._own_weights[self._words[own]] = self._weights[own]
        products = self._own_weights[self._words] * self._weights
        self._own_weights[self._words[own]] = 0.0
        return np.bincount(self._rows, products, len(self._starts) - 1).astype(np.float64, copy=False)
