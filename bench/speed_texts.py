"""Generated texts of any number, and questions about them: the same for the same seed.

Turns of 8 to 40 words in conversations of twenty, one minute apart. Words are drawn by Zipf's law from about
170,000, a vocabulary and generated rare words (`bench/sentences.py`), so that a lexical index has realistic
work. A question has a few words of the turn that it is about, in their order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from bench.sentences import stream

RARE_WORDS = 150_000
TURNS_PER_CONVERSATION = 20
SPEAKERS = ("user", "assistant")
FIRST_AT = datetime(2024, 1, 1, tzinfo=UTC)
QUESTION_MIN_WORDS = 3
QUESTION_MAX_WORDS = 8


@dataclass(frozen=True)
class AskedQuestion:
    """A question and the text that it is about."""

    question: str
    about: str


def turns(count: int, *, seed: int) -> Iterator[dict[str, Any]]:
    """Items for `retain_many`."""
    for position, text in enumerate(texts(count, seed=seed)):
        yield {
            "content": text,
            "conversation": f"conversation {position // TURNS_PER_CONVERSATION}",
            "role": SPEAKERS[position % len(SPEAKERS)],
            "at": FIRST_AT + timedelta(minutes=position),
        }


def texts(count: int, *, seed: int) -> Iterator[str]:
    """The texts of the turns."""
    return stream(count, seed=seed, tail_count=RARE_WORDS)


def questions(count: int, *, of_count: int, seed: int) -> list[AskedQuestion]:
    """`count` different questions about random turns of a store of `of_count`."""
    random = np.random.default_rng(seed)
    positions = set(random.choice(of_count, size=count, replace=of_count < count).tolist())
    chosen = [text for position, text in enumerate(texts(of_count, seed=seed)) if position in positions]
    asked: dict[str, AskedQuestion] = {}
    while len(asked) < count:
        about = chosen[int(random.integers(len(chosen)))]
        question = _question(about.rstrip(".").split(), random)
        asked[question] = AskedQuestion(question, about)
    return list(asked.values())


def _question(words: Sequence[str], random: np.random.Generator) -> str:
    count = int(random.integers(QUESTION_MIN_WORDS, QUESTION_MAX_WORDS + 1))
    picked = np.sort(random.choice(len(words), size=count, replace=False))
    return f"What about {' '.join(words[position] for position in picked).lower()}?"
