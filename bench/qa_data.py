"""Questions with reference answers about long conversations, and by which rule an answer is judged.

    longmemeval-oracle  LongMemEval with the evidence sessions only: what a model can do with a perfect recall
    longmemeval-s       LongMemEval_S with about fifty sessions for each question
    locomo              LoCoMo, all categories; adversarial questions have no answer in the conversation
    beam                BEAM 100K; questions without a reference answer are left out

The files are read from a folder that the caller names (`bench/datasets.py` says more about them).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.datasets import (
    LOCOMO_CATEGORIES,
    Owner,
    read_beam,
    read_file,
    read_locomo,
    read_longmemeval,
)

Rule = Literal["contains", "time", "update", "preference", "abstention", "generous", "graded"]
"""How an answer is judged; `bench/qa_judging.py` has the instructions."""

LONGMEMEVAL_RULES: dict[str, Rule] = {
    "temporal-reasoning": "time",
    "knowledge-update": "update",
    "single-session-preference": "preference",
}
ADVERSARIAL = LOCOMO_CATEGORIES[5]
NOT_MENTIONED = "The conversation does not mention this. Wrong would be: "


@dataclass(frozen=True)
class QaQuestion:
    """A question to answer; `key` identifies it in a results file."""

    key: str
    text: str
    category: str
    reference: str
    rule: Rule


@dataclass(frozen=True)
class QaOwner:
    """The turns of an owner (`bench/datasets.py`), and the questions about them."""

    owner: Owner
    questions: tuple[QaQuestion, ...]


@dataclass(frozen=True)
class QaSet:
    """One set; `is_oracle` if the turns themselves are the context, without recall."""

    name: str
    owners: tuple[QaOwner, ...]
    is_oracle: bool = False


def read_qa_set(name: str, folder: Path, owner_limit: int | None = None) -> QaSet:
    """Read one of `QA_SETS`. MissingDataError without its file."""
    prefix, read = QA_SETS[name]
    owners = tuple(owner for each in read_file(folder, prefix)[:owner_limit] for owner in read(each, name))
    return QaSet(name, owners, is_oracle=name == "longmemeval-oracle")


def _longmemeval(asked: Any, name: str) -> Iterator[QaOwner]:
    (owner,) = read_longmemeval([asked]).owners
    rule = LONGMEMEVAL_RULES.get(asked["question_type"], "contains")
    question = QaQuestion(
        f"{name}/{asked['question_id']}",
        asked["question"],
        asked["question_type"] if owner.answerable else "abstention",
        str(asked["answer"]),
        rule if owner.answerable else "abstention",
    )
    yield QaOwner(owner, (question,))


def _locomo(dialogue: Any, name: str) -> Iterator[QaOwner]:
    (owner,) = read_locomo([dialogue]).owners
    questions = (
        _locomo_question(asked, f"{name}/{owner.name}/{place}") for place, asked in enumerate(dialogue["qa"])
    )
    yield QaOwner(owner, tuple(questions))


def _locomo_question(asked: Any, key: str) -> QaQuestion:
    category = LOCOMO_CATEGORIES[asked["category"]]
    if asked.get("answer") is None:
        reference = f"{NOT_MENTIONED}{asked.get('adversarial_answer', 'any answer')}"
        return QaQuestion(key, asked["question"], category, reference, "abstention")
    return QaQuestion(key, asked["question"], category, str(asked["answer"]), "generous")


def _beam(chat: Any, name: str) -> Iterator[QaOwner]:
    (owner,) = read_beam([chat]).owners
    questions = (
        QaQuestion(
            f"{name}/{owner.name}/{place}",
            asked["question"],
            asked["type"],
            reference,
            "abstention" if asked["type"] == "abstention" else "graded",
        )
        for place, asked in enumerate(chat["questions"])
        if (reference := _beam_reference(asked))
    )
    yield QaOwner(owner, tuple(questions))


def _beam_reference(asked: Any) -> str:
    """The points of the rubric where the file has one, else the reference answer; empty without both."""
    points = asked.get("rubric") or ()
    return "\n".join(f"- {point}" for point in points) or str(asked["answer"] or "")


QA_SETS: dict[str, tuple[str, Callable[[Any, str], Iterator[QaOwner]]]] = {
    "longmemeval-oracle": ("longmemeval_oracle", _longmemeval),
    "longmemeval-s": ("longmemeval_s", _longmemeval),
    "locomo": ("locomo", _locomo),
    "beam": ("beam_100k", _beam),
}
"""The prefix of the file and the reader of each set."""
