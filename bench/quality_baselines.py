"""Baseline rankings over the same texts and vectors, in memory.

BM25 sees stemmed words, with the date and the speaker in the text; dense is the cosine of the query with the
text and its speaker. Rank fusion and the sum of standardised scores combine the two. Where evidence is whole
conversations, there is also BM25 over whole conversations.

PostgreSQL's English Snowball dictionary makes the stems, in bulk, without its list of stop words: the list
here is the shorter one of the published baselines.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import psycopg
from numpy.typing import NDArray

from bench.datasets import Owner, Unit
from bench.quality_metrics import Answered, first_appearances
from mnemic.models.engine import EmbeddingEngine, FloatArray

Scores = NDArray[np.float64]

TERM_SATURATION = 1.2
LENGTH_SHARE = 0.75
FUSION_CONSTANT = 60
FUSION_DEPTH = 200

_STOP_TEXT = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they
this to was will with i you he she we my your his her our me him them do does did have has had what when where
who which how
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())
_WORD = re.compile(r"[a-z0-9]+")
_DICTIONARY = "CREATE TEXT SEARCH DICTIONARY pg_temp.bench_stems (TEMPLATE = snowball, Language = english)"
_STEMS = (
    "SELECT word, (ts_lexize('pg_temp.bench_stems', word))[1] AS stem FROM unnest(%(words)s::text[]) AS word"
)


class Stems:
    """The stem of every word in a set of texts."""

    def __init__(self, stems: Mapping[str, str]) -> None:
        self._stems = stems

    @classmethod
    def read(cls, conninfo: str, texts: Iterable[str]) -> "Stems":
        """Get the stems of all words in these texts from a server."""
        words = {word for text in texts for word in _WORD.findall(text.lower())}
        with psycopg.connect(conninfo) as connection:
            connection.execute(_DICTIONARY)
            rows = connection.execute(_STEMS, {"words": sorted(words - STOP_WORDS)}).fetchall()
            connection.rollback()
        return cls({word: stem or word for word, stem in rows})

    def of(self, text: str) -> list[str]:
        """The stems of a text in order, stop words left out."""
        return [self._stems.get(word, word) for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


class BM25:
    """Okapi BM25 over texts that are lists of stems."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        lengths = np.array([len(text) for text in texts], np.float64)
        self._count = len(texts)
        mean = max(float(lengths.mean()), 1.0)
        self._norms = TERM_SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * lengths / mean)
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for position, text in enumerate(texts):
            for stem, times in Counter(text).items():
                postings[stem].append((position, times))
        self._postings = {stem: np.array(found, np.int64) for stem, found in postings.items()}

    def scores(self, query: Iterable[str]) -> Scores:
        """The score of every text for the stems of a query."""
        scores = np.zeros(self._count)
        for stem in sorted(set(query)):
            if (found := self._postings.get(stem)) is not None:
                positions, times = found[:, 0], found[:, 1].astype(np.float64)
                rarity = np.log1p((self._count - len(found) + 0.5) / (len(found) + 0.5))
                scores[positions] += rarity * times * (TERM_SATURATION + 1) / (times + self._norms[positions])
        return scores


async def rank(owner: Owner, unit: Unit, stems: Stems, engine: EmbeddingEngine) -> dict[str, list[Answered]]:
    """The result of each ranking for the answerable questions of an owner."""
    index = _Index(
        owner, stems, await engine.embed([turn.said for turn in owner.turns], input_type="document")
    )
    answered: dict[str, list[Answered]] = defaultdict(list)
    for question in owner.answerable:
        vector = (await engine.embed([question.text], input_type="query"))[0]
        for name, ranked in index.rankings(question.text, vector, unit):
            answered[name].append(Answered(question, ranked))
    return answered


class _Index:
    """Indexes over the turns of one owner, for all rankings."""

    def __init__(self, owner: Owner, stems: Stems, vectors: FloatArray) -> None:
        self._stems = stems
        self._vectors = vectors
        self._ids: dict[Unit, list[str]] = {
            "turn": [turn.turn_id for turn in owner.turns],
            "conversation": [turn.conversation for turn in owner.turns],
        }
        texts = [stems.of(turn.dated) for turn in owner.turns]
        self._words = BM25(texts)
        whole: dict[str, list[str]] = defaultdict(list)
        for turn, text in zip(owner.turns, texts, strict=True):
            whole[turn.conversation] += text
        self._conversations = list(whole)
        self._whole_words = BM25(list(whole.values()))

    def rankings(self, query: str, vector: FloatArray, unit: Unit) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each ranking's name and its ids, best first."""
        stems = self._stems.of(query)
        lexical = self._words.scores(stems)
        dense = (self._vectors @ vector).astype(np.float64)
        found = {
            "BM25": lexical,
            "dense": dense,
            "rank fusion": reciprocal_ranks(lexical, dense),
            "score sum": standardised(lexical) + standardised(dense),
        }
        for name, scores in found.items():
            yield name, first_appearances(self._ids[unit][position] for position in _best_first(scores))
        if unit == "conversation":
            positions = _best_first(self._whole_words.scores(stems))
            yield "BM25, whole conversations", tuple(self._conversations[position] for position in positions)


def standardised(scores: Scores) -> Scores:
    """With mean zero and deviation one; all zero if all scores are equal."""
    deviation = float(scores.std())
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros_like(scores)


def reciprocal_ranks(*rankings: Scores) -> Scores:
    """Reciprocal rank fusion of several lists of scores."""
    fused = np.zeros_like(rankings[0])
    for scores in rankings:
        best = _best_first(scores)[:FUSION_DEPTH]
        fused[best] += 1 / (FUSION_CONSTANT + 1 + np.arange(len(best)))
    return fused


def _best_first(scores: Scores) -> NDArray[np.int64]:
    return np.argsort(-scores, kind="stable")
