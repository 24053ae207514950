"""Extractive summaries: the sentences of a conversation that say most of what it is about, without a model.

A sentence scores by the frequency of its content words in the conversation (the stems that several turns
share weigh most), and by names and numbers. Only what people say is quoted: what assistants say about their
users is often wrong. Sentences are chosen one by one, and words that were covered already count little, so
that the summary does not repeat itself.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mnemic.text_analysis.assertions import sentences_of
from mnemic.text_analysis.statement_words import STATEMENT_STOPWORDS
from mnemic.text_analysis.statements import stem

SENTENCES_MAX = 6
SUMMARY_MAX_CHARACTERS = 900
SENTENCE_MIN_WORDS = 4
SHORT_SENTENCE_MIN_WORDS = 2
"""Content words of a sentence; the second number is for conversations without longer ones."""
SENTENCE_MAX_CHARACTERS = 240
CANDIDATES_MAX = 2_000
"""Sentences that are compared."""
COVERED_SHARE = 0.2
"""What a word that a chosen sentence has already still counts."""
NAME_WEIGHT = 0.5
QUESTION_WEIGHT = 0.4
LENGTH_POWER = 0.6
"""Long sentences have more words: between no correction (0) and the mean (1)."""

_WORD = re.compile(r"[^\W_][\w'’-]{0,40}")


@dataclass(frozen=True, slots=True)
class Said:
    """A turn: its index, who said it, its text, and whether the speaker is the user or a person."""

    index: int
    speaker: str
    text: str
    is_person: bool


@dataclass(frozen=True, slots=True)
class ChosenSentence:
    """A sentence of a summary and the index of its turn."""

    index: int
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    place: int
    sentence: ChosenSentence
    stems: frozenset[str]
    weight: float


def summarise(turns: Sequence[Said]) -> list[ChosenSentence]:
    """The sentences that sum a conversation up, in the order in which they were said."""
    candidates = _candidates(turns, SENTENCE_MIN_WORDS) or _candidates(turns, SHORT_SENTENCE_MIN_WORDS)
    spread = Counter(stem_ for turn in turns for stem_ in _stems(turn.text))
    values = {word: math.log1p(count) for word, count in spread.items()}
    chosen: list[_Candidate] = []
    length = 0
    while candidates and len(chosen) < SENTENCES_MAX:
        best = max(candidates, key=lambda each: (_score(each, values), -each.place))
        candidates.remove(best)
        if length + len(best.sentence.text) > SUMMARY_MAX_CHARACTERS:
            continue
        chosen.append(best)
        length += len(best.sentence.text)
        for word in best.stems:
            values[word] = values.get(word, 0.0) * COVERED_SHARE
    return [each.sentence for each in sorted(chosen, key=lambda each: each.place)]


def _candidates(turns: Sequence[Said], min_words: int) -> list[_Candidate]:
    found: list[_Candidate] = []
    seen: set[str] = set()
    for turn in (turn for turn in turns if turn.is_person):
        for sentence in sentences_of(turn.text):
            text = " ".join(sentence.text.split())
            if len(found) >= CANDIDATES_MAX:
                return found
            stems = _stems(sentence.own)
            if len(text) > SENTENCE_MAX_CHARACTERS or len(stems) < min_words or text in seen:
                continue
            seen.add(text)
            weight = QUESTION_WEIGHT if text.endswith("?") else 1.0
            names = sum(
                any(map(str.isupper, word)) or any(map(str.isdigit, word)) for word in text.split()[1:]
            )
            weight *= 1 + NAME_WEIGHT * min(names, 3) / 3
            found.append(
                _Candidate(len(found), ChosenSentence(turn.index, turn.speaker, text), stems, weight)
            )
    return found


def _score(candidate: _Candidate, values: Mapping[str, float]) -> float:
    total = sum(values.get(word, 0.0) for word in candidate.stems)
    return candidate.weight * total / math.pow(len(candidate.stems), LENGTH_POWER)


def _stems(text: str) -> frozenset[str]:
    words = (word.casefold() for word in _WORD.findall(text))
    return frozenset(stem(word) for word in words if word not in STATEMENT_STOPWORDS and len(word) > 2)
