"""The stores that people build, read into one format: what to retain, and questions with their answers.

    small   stores of a few dozen memories as users of memory libraries make them, questions by kind
    facts   facts drawn from LoCoMo's conversations, one owner per conversation
    docs    one owner with the articles of XQuAD as Markdown documents
    mixed   LoCoMo's turns and facts and all documents in one store
    typos   facts and docs, with wrong letters in the questions
    cross   docs, asked in other languages than the documents'

The files `small_*`, `locomo_facts_*`, `locomo_*` and `xquad_*` (`.json` or `.json.xz`) are read from a folder
that the caller names; none is part of this repository. `read_stores` yields the stores of a set one after the
other, so a store that is not asked for is never built:

    for store in read_stores("facts", folder):
        store.owner, store.items, store.documents
        for question in store.questions:
            question.text, question.kind, question.is_right(content)
"""

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from bench.datasets import LOCOMO_TIME, read_file

FOREIGN = "foreign"
NEAR = "near"
UNANSWERABLE = frozenset({FOREIGN, NEAR})
"""Kinds of questions without an answer in the store: about something else, and about almost the same."""

FOREIGN_QUESTIONS = 60
"""Questions about other owners that a store is asked, at most."""
_FOREIGN_SEED = 7

MIXED_OWNERS = 2
"""Stores of `mixed`, unless the caller limits the owners: each of them holds all documents."""

# Every n-th question about the documents is asked, where there are several languages or owners.
MIXED_EVERY = 4
CROSS_EVERY = 3
CROSS_LANGUAGES = ("de", "es", "ru", "tr", "zh")

TYPO_MIN_LETTERS = 5
TYPO_WORDS = 2

# A chunk holds the answer to a question about a document if it contains the answer with this many characters
# of its paragraph on both sides, or the answer and the first characters of that passage.
_AROUND_CHARACTERS = 20
_START_CHARACTERS = 40
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Passage:
    """A passage of a document that holds an answer."""

    around: str
    answer: str

    @classmethod
    def of(cls, paragraph: str, answer: str) -> "Passage":
        """The answer with what stands around it in the paragraph."""
        start = paragraph.find(answer)
        end = start + len(answer) + _AROUND_CHARACTERS
        return cls(_one_line(paragraph[max(0, start - _AROUND_CHARACTERS) : end]), answer)

    def is_in(self, content: str) -> bool:
        """Whether a chunk holds the passage, or its start and the answer."""
        line = _one_line(content)
        return self.around in line or (self.answer in content and self.around[:_START_CHARACTERS] in line)


@dataclass(frozen=True)
class StoreQuestion:
    """A question, and which contents answer it: those in `gold`, or any that holds the `passage`.

    Contents in `stale` are outdated: what ranks below one of them does not count. Without gold and passage
    the question is unanswerable.
    """

    text: str
    kind: str
    gold: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()
    passage: Passage | None = None

    @property
    def answerable(self) -> bool:
        """Whether the store holds an answer."""
        return bool(self.gold) or self.passage is not None

    def is_right(self, content: str) -> bool:
        """Whether a memory with this content answers the question, or a part of it."""
        return content in self.gold or (self.passage is not None and self.passage.is_in(content))


@dataclass(frozen=True)
class StoredDocument:
    """A Markdown document to ingest."""

    title: str
    text: str


@dataclass(frozen=True)
class Store:
    """One owner: items for `retain_many`, documents, and the questions, asked at the time `now` if given.

    The baselines rank `contents`, or what was stored, newest first, if there are none; between equal scores
    the order decides.
    """

    owner: str
    items: tuple[dict[str, Any], ...] = ()
    documents: tuple[StoredDocument, ...] = ()
    questions: tuple[StoreQuestion, ...] = ()
    now: datetime | None = None
    contents: tuple[str, ...] = ()


def read_stores(name: str, folder: Path, owner_limit: int | None = None) -> Iterator[Store]:
    """The stores of a set, or of one of its parts (`typos facts`); `owner_limit` keeps the first owners."""
    return PARTS[name](folder, owner_limit)


def small_stores(folder: Path, owner_limit: int | None) -> Iterator[Store]:
    """Stores whose questions name the memories that answer them by id."""
    for store in read_file(folder, "small")[:owner_limit]:
        contents = {item["id"]: item["content"] for item in store["items"]}
        questions = (
            StoreQuestion(
                asked["q"],
                asked["kind"],
                gold=frozenset(contents[each] for each in asked["gold"]),
                stale=frozenset(contents[each] for each in asked.get("stale", ())),
            )
            for asked in store["questions"]
        )
        yield Store(
            store["store"],
            tuple(_small_items(store["items"])),
            questions=tuple(questions),
            now=datetime.fromisoformat(store["now"]),
            contents=tuple(contents.values()),
        )


def _small_items(items: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Conversation after conversation, as an application retains them."""
    for conversation in dict.fromkeys(item.get("conversation") for item in items):
        for item in items:
            if item.get("conversation") == conversation:
                yield {field: value for field, value in item.items() if field != "id" and value}


Change = Callable[[str, int], str]
"""Changes a question; the number is its place among the questions of the store."""


def facts_stores(folder: Path, owner_limit: int | None, change: Change | None = None) -> Iterator[Store]:
    """Facts as plain texts, without conversation and role; foreign are the questions of the other owners."""
    dialogues = read_file(folder, "locomo_facts")[:owner_limit]
    for dialogue in dialogues:
        own = [
            StoreQuestion(asked["question"], "facts", _facts_of(dialogue, asked)) for asked in dialogue["qa"]
        ]
        others = (other for other in dialogues if other is not dialogue)
        yield Store(
            dialogue["sample_id"],
            tuple(_fact_items(dialogue)),
            questions=(*_changed(own, change), *_foreign_of(others)),
        )


def _fact_items(dialogue: Any) -> Iterator[dict[str, Any]]:
    for fact in dialogue["facts"]:
        at = _locomo_time(fact["at"])
        yield {"content": fact["text"], "at": at} if at else {"content": fact["text"]}


def _facts_of(dialogue: Any, asked: Any) -> frozenset[str]:
    return frozenset(dialogue["facts"][place]["text"] for place in asked["facts"])


def docs_stores(folder: Path, owner_limit: int | None, change: Change | None = None) -> Iterator[Store]:
    """One owner with all articles; foreign are questions about people."""
    articles = read_file(folder, "xquad")
    own = _changed(list(_document_questions(articles, "docs en")), change)
    foreign = _foreign_of(read_file(folder, "locomo_facts"))
    yield Store("docs", documents=_documents(articles), questions=(*own, *foreign))


def cross_stores(folder: Path, owner_limit: int | None) -> Iterator[Store]:
    """One owner with all articles in English; every question in the other languages."""
    articles = read_file(folder, "xquad")
    own = [
        question
        for language in CROSS_LANGUAGES
        for question in _document_questions(articles, f"docs {language}", language, every=CROSS_EVERY)
    ]
    foreign = _foreign_of(read_file(folder, "locomo_facts"))
    yield Store("docs", documents=_documents(articles), questions=(*own, *foreign))


def mixed_stores(folder: Path, owner_limit: int | None) -> Iterator[Store]:
    """A conversation with its turns and facts and all documents; foreign are the other owners' questions."""
    articles = read_file(folder, "xquad")
    talks = {talk["sample_id"]: talk["conversation"] for talk in read_file(folder, "locomo")}
    dialogues = read_file(folder, "locomo_facts")
    for dialogue in dialogues[: owner_limit or MIXED_OWNERS]:
        owner = dialogue["sample_id"]
        turns = dict(_turn_items(talks[owner], owner))
        said = {turn_id: item["content"] for turn_id, item in turns.items()}
        people = (
            StoreQuestion(
                asked["question"],
                "about people",
                _facts_of(dialogue, asked) | _turns_of(dialogue, asked, said),
            )
            for asked in dialogue["qa"]
        )
        documents = _document_questions(articles, "about documents", every=MIXED_EVERY)
        foreign = _foreign_of(other for other in dialogues if other is not dialogue)
        yield Store(
            owner,
            (*turns.values(), *_fact_items(dialogue)),
            _documents(articles),
            (*people, *documents, *foreign),
        )


def _turn_items(conversation: Any, owner: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The id of each turn, and the turn for `retain_many`."""
    number = 1
    while f"session_{number}" in conversation:
        at = _locomo_time(conversation[f"session_{number}_date_time"])
        for turn in conversation[f"session_{number}"]:
            shared = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield (
                turn["dia_id"],
                {
                    "content": turn["text"] + shared,
                    "conversation": f"{owner}-{number}",
                    "role": "user",
                    "name": turn["speaker"],
                    "at": at,
                },
            )
        number += 1


def _turns_of(dialogue: Any, asked: Any, said: dict[str, str]) -> frozenset[str]:
    """What was said in the turns that the facts of a question were drawn from."""
    named = (turn_id for place in asked["facts"] for turn_id in dialogue["facts"][place]["turns"])
    return frozenset(said[turn_id] for turn_id in named if turn_id in said)


def _documents(articles: Sequence[Any]) -> tuple[StoredDocument, ...]:
    return tuple(
        StoredDocument(
            each["title"],
            "\n\n".join([f"# {each['title']}", *(part["text"] for part in each["paragraphs"])]),
        )
        for each in articles
    )


def _document_questions(
    articles: Sequence[Any], kind: str, language: str = "en", *, every: int = 1
) -> Iterator[StoreQuestion]:
    """Every n-th question about the articles, beginning with the n-th."""
    asked = (
        (part["text"], question)
        for each in articles
        for part in each["paragraphs"]
        for question in part["qas"]
    )
    for paragraph, question in islice(asked, every - 1, None, every):
        passage = Passage.of(paragraph, question["answer"])
        yield StoreQuestion(question["question"][language], kind, passage=passage)


def _foreign_of(dialogues: Iterable[Any]) -> Iterator[StoreQuestion]:
    """A sample of the questions about other people."""
    texts = [asked["question"] for dialogue in dialogues for asked in dialogue["qa"]]
    count = min(FOREIGN_QUESTIONS, len(texts))
    for text in random.Random(_FOREIGN_SEED).sample(texts, count):
        yield StoreQuestion(text, FOREIGN)


def _changed(questions: Sequence[StoreQuestion], change: Change | None) -> Sequence[StoreQuestion]:
    if change is None:
        return questions
    return [replace(each, text=change(each.text, place)) for place, each in enumerate(questions)]


def misspelt(question: str, seed: int) -> str:
    """The question with one wrong letter in each of its two longest words of five or more letters."""
    chance, words = random.Random(seed), question.split()
    longest_first = sorted(range(len(words)), key=lambda place: -len(words[place]))
    long = [place for place in longest_first if len(words[place]) >= TYPO_MIN_LETTERS]
    for place in [place for place in long if words[place].isalpha()][:TYPO_WORDS]:
        word = words[place]
        at = chance.randrange(1, len(word) - 1)
        swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        words[place] = chance.choice([swapped, word[:at] + word[at + 1 :], word[: at + 1] + word[at:]])
    return " ".join(words)


def typos_facts_stores(folder: Path, owner_limit: int | None) -> Iterator[Store]:
    """As `facts`, misspelt; the foreign questions are not."""
    return facts_stores(folder, owner_limit, misspelt)


def typos_docs_stores(folder: Path, owner_limit: int | None) -> Iterator[Store]:
    """As `docs`, misspelt; the foreign questions are not."""
    return docs_stores(folder, owner_limit, misspelt)


def _locomo_time(text: str | None) -> datetime | None:
    try:
        return datetime.strptime(text or "", LOCOMO_TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def _one_line(text: str) -> str:
    return _SPACE.sub(" ", text)


PARTS: dict[str, Callable[[Path, int | None], Iterator[Store]]] = {
    "small": small_stores,
    "facts": facts_stores,
    "docs": docs_stores,
    "mixed": mixed_stores,
    "typos facts": typos_facts_stores,
    "typos docs": typos_docs_stores,
    "cross": cross_stores,
}
"""The reader of each set, or of each of its parts."""

SETS: dict[str, tuple[str, ...]] = {
    "small": ("small",),
    "facts": ("facts",),
    "docs": ("docs",),
    "mixed": ("mixed",),
    "typos": ("typos facts", "typos docs"),
    "cross": ("cross",),
}
"""The sets that a user chooses, with their parts."""
