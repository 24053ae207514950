"""Public datasets of questions about long conversations, read into one format.

    LoCoMo         one memory per turn of a dialogue of two; evidence: turns
    LongMemEval_S  one memory per turn of about fifty chats with an assistant; evidence: whole chats
    BEAM           one memory per message of one very long chat; evidence: messages

The files are read from a folder that the caller names, compressed (`.json.xz`) or not; none is part of this
repository (LoCoMo's licence forbids commercial use). Evidence is defined as in the papers and in published
results, so that numbers are comparable.
"""

import json
import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

Unit = Literal["turn", "conversation"]
"""Whether evidence consists of single turns or of whole conversations."""

LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}

# The time format of each dataset.
LOCOMO_TIME = "%I:%M %p on %d %B, %Y"
LONGMEMEVAL_TIME = "%Y/%m/%d (%a) %H:%M"
BEAM_TIME = "%B-%d-%Y"

# Most evidence is written `D8:6`; some as `D8:6; D9:17`, `D:11:26` or `D30:05`.
_LOCOMO_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


class MissingDataError(Exception):
    """A dataset file is missing; the message names the file and the folder."""


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation; evidence refers to its `turn_id`."""

    turn_id: str
    content: str
    conversation: str
    at: datetime | None = None
    time_text: str = ""
    role: str | None = None
    name: str | None = None

    @property
    def said(self) -> str:
        """The text with its speaker, as the baselines embed it."""
        return f"{self.name}: {self.content}" if self.name else self.content

    @property
    def dated(self) -> str:
        """The same with its date in the dataset's format, as the baselines index it."""
        return f"{self.time_text} {self.said}" if self.time_text else self.said

    def item(self) -> dict[str, Any]:
        """The item for `retain_many`."""
        fields = {
            "content": self.content,
            "conversation": self.conversation,
            "external_id": self.turn_id,
            "at": self.at,
            "role": self.role,
            "name": self.name,
        }
        return {field: value for field, value in fields.items() if value is not None}


@dataclass(frozen=True)
class Question:
    """A question and when it was asked. Without evidence it is unanswerable."""

    text: str
    category: str
    evidence: frozenset[str]
    at: datetime | None


@dataclass(frozen=True)
class Owner:
    """The turns of one owner, in order, and the questions about them."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]

    @property
    def answerable(self) -> tuple[Question, ...]:
        """The questions that have evidence."""
        return tuple(question for question in self.questions if question.evidence)

    @property
    def unanswerable(self) -> tuple[Question, ...]:
        """The questions without evidence (near misses)."""
        return tuple(question for question in self.questions if not question.evidence)


@dataclass(frozen=True)
class Dataset:
    """One public dataset."""

    name: str
    unit: Unit
    owners: tuple[Owner, ...]


def read_locomo(data: Iterable[Any]) -> Dataset:
    """One owner per dialogue. Questions without resolvable evidence are left out."""
    return Dataset("LoCoMo", "turn", tuple(_locomo_owner(each) for each in data))


def read_longmemeval(data: Iterable[Any]) -> Dataset:
    """One owner per question; evidence names sessions, except for `_abs` questions, which have none."""
    return Dataset("LongMemEval_S", "conversation", tuple(_longmemeval_owner(each) for each in data))


def read_beam(data: Iterable[Any]) -> Dataset:
    """One owner per chat. A message without a time has that of the message before it."""
    return Dataset("BEAM", "turn", tuple(_beam_owner(each) for each in data))


@dataclass(frozen=True)
class Source:
    """The prefix of a dataset's file name, and its reader."""

    file_prefix: str
    read: Callable[[Iterable[Any]], Dataset]


SOURCES = {
    "locomo": Source("locomo", read_locomo),
    "longmemeval": Source("longmemeval_s", read_longmemeval),
    "beam": Source("beam_100k", read_beam),
}


def load(source: Source, folder: Path) -> Dataset:
    """Read the dataset from its file in `folder`. MissingDataError if there is none, or more than one."""
    return source.read(read_file(folder, source.file_prefix))


def read_file(folder: Path, prefix: str) -> Any:
    """The content of the one file of `folder` that is named `prefix`, or `prefix_` and one more word.

    The word is the part of the dataset: `locomo_dev.json.xz` is read for `locomo`, and
    `locomo_facts_dev.json.xz` is not.
    """
    name = re.compile(rf"{re.escape(prefix)}\d*(_[^_]+)?\.json(\.xz)?")
    found = sorted(path for path in folder.glob(f"{prefix}*") if name.fullmatch(path.name))
    if len(found) != 1:
        raise MissingDataError(
            f"{folder} has {len(found)} files {prefix}.json, {prefix}_*.json (or .xz); one is needed."
        )
    written = found[0].read_bytes()
    return json.loads(lzma.decompress(written) if found[0].suffix == ".xz" else written)


def _locomo_owner(dialogue: Any) -> Owner:
    turns = tuple(_locomo_turns(dialogue["conversation"]))
    known = {turn.turn_id for turn in turns}
    questions = (
        Question(
            asked["question"],
            LOCOMO_CATEGORIES[asked["category"]],
            frozenset(_locomo_evidence(asked["evidence"])) & known,
            turns[-1].at,
        )
        for asked in dialogue["qa"]
    )
    resolved = tuple(question for question in questions if question.evidence)
    return Owner(str(dialogue["sample_id"]), turns, resolved)


def _locomo_turns(conversation: Any) -> Iterator[Turn]:
    number = 1
    while f"session_{number}" in conversation:
        time_text = conversation[f"session_{number}_date_time"]
        at = _time(time_text, LOCOMO_TIME)
        for turn in conversation[f"session_{number}"]:
            shared = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            content = turn["text"] + shared
            yield Turn(
                turn["dia_id"], content, f"session {number}", at, time_text=time_text, name=turn["speaker"]
            )
        number += 1


def _locomo_evidence(written: Iterable[str]) -> Iterator[str]:
    for text in written:
        for session, turn in _LOCOMO_EVIDENCE.findall(text):
            yield f"D{int(session)}:{int(turn)}"


def _longmemeval_owner(asked: Any) -> Owner:
    is_answerable = "_abs" not in asked["question_id"]
    question = Question(
        asked["question"],
        asked["question_type"],
        frozenset(asked["answer_session_ids"]) if is_answerable else frozenset(),
        _time(asked["question_date"], LONGMEMEVAL_TIME),
    )
    return Owner(asked["question_id"], tuple(_longmemeval_turns(asked)), (question,))


def _longmemeval_turns(asked: Any) -> Iterator[Turn]:
    sessions = zip(
        asked["haystack_session_ids"], asked["haystack_dates"], asked["haystack_sessions"], strict=True
    )
    for position, (session_id, date, turns) in enumerate(sessions):
        at = _time(date, LONGMEMEVAL_TIME)
        for number, turn in enumerate(turns):
            # A few turns in the dataset are blank and cannot be stored.
            if turn["content"].strip():
                # A haystack may contain a session twice; the position makes the ids of turns unique.
                turn_id = f"{position}:{number}"
                yield Turn(turn_id, turn["content"], session_id, at, role=turn["role"])


def _beam_owner(chat: Any) -> Owner:
    turns = tuple(_beam_turns(chat))
    questions = tuple(
        Question(asked["question"], asked["type"], frozenset(map(str, asked["evidence"])), turns[-1].at)
        for asked in chat["questions"]
    )
    return Owner(f"chat {chat['chat_id']}", turns, questions)


def _beam_turns(chat: Any) -> Iterator[Turn]:
    at = None
    for message in chat["messages"]:
        at = _time(message["time"], BEAM_TIME) if message["time"] else at
        conversation = f"chat {chat['chat_id']}"
        yield Turn(str(message["id"]), message["content"], conversation, at, role=message["role"])


def _time(text: str, time_format: str) -> datetime:
    return datetime.strptime(text, time_format).replace(tzinfo=UTC)
