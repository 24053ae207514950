"""The readers of the stores, on tiny made-up samples in the shape of each file."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench.datasets import MissingDataError, read_file
from bench.stores_data import FOREIGN, PARTS, Passage, Store, misspelt, read_stores

SMALL: list[Any] = [
    {
        "store": "mira",
        "now": "2026-11-01T09:00:00Z",
        "items": [
            {"id": "a", "content": "Mira moved to Riga.", "at": "2026-05-01T09:00:00Z"},
            {"id": "b", "content": "Hello!", "conversation": "first", "role": "user", "name": ""},
            {"id": "c", "content": "Mira lives in Oslo.", "at": "2026-01-01T09:00:00Z"},
        ],
        "questions": [
            {"q": "Where does Mira live?", "kind": "update", "gold": ["a"], "stale": ["c"]},
            {"q": "What is the capital of Peru?", "kind": "foreign", "gold": []},
        ],
    }
]
FACTS: list[Any] = [
    {
        "sample_id": f"talk-{name}",
        "facts": [
            {"text": f"{name} keeps bees.", "at": "1:56 pm on 8 May, 2023", "turns": ["D1:1", "D9:9"]},
            {"text": f"{name} fears heights.", "at": "unknown", "turns": []},
        ],
        "qa": [{"question": f"Which animals does {name} keep?", "facts": [0]}],
    }
    for name in ("Ada", "Bo")
]
TALKS: list[Any] = [
    {
        "sample_id": f"talk-{name}",
        "conversation": {
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": name, "dia_id": "D1:1", "text": "I keep bees.", "blip_caption": "a hive"}
            ],
        },
        "qa": [],
    }
    for name in ("Ada", "Bo")
]
PARAGRAPH = "The bridge over the Moika was built in 1808 and carries trams. It is painted blue."
LANGUAGES = ("en", "de", "es", "ru", "tr", "zh")
ARTICLES: list[Any] = [
    {
        "title": "Blue_Bridge",
        "paragraphs": [
            {
                "text": PARAGRAPH,
                "qas": [
                    {"question": {each: f"{each} {place}" for each in LANGUAGES}, "answer": "1808"}
                    for place in range(4)
                ],
            }
        ],
    }
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {"small": SMALL, "locomo_facts": FACTS, "locomo": TALKS, "xquad": ARTICLES}
    for name, content in files.items():
        (tmp_path / f"{name}_tiny.json").write_text(json.dumps(content), "utf-8")
    return tmp_path


def stores(name: str, folder: Path, owner_limit: int | None = None) -> list[Store]:
    return list(read_stores(name, folder, owner_limit))


def test_a_small_store_is_retained_talk_by_talk_and_asked_at_its_own_time(folder: Path) -> None:
    (store,) = stores("small", folder)
    assert [item["content"] for item in store.items] == [
        "Mira moved to Riga.",
        "Mira lives in Oslo.",
        "Hello!",
    ]
    assert store.items[2] == {"content": "Hello!", "conversation": "first", "role": "user"}
    assert store.now == datetime(2026, 11, 1, 9, tzinfo=UTC)
    update, foreign = store.questions
    assert update.gold == {"Mira moved to Riga."}
    assert update.stale == {"Mira lives in Oslo."}
    assert update.answerable
    assert not foreign.answerable


def test_facts_have_a_time_where_it_is_known_and_the_questions_of_others_are_foreign(folder: Path) -> None:
    ada, bo = stores("facts", folder)
    assert ada.items == (
        {"content": "Ada keeps bees.", "at": datetime(2023, 5, 8, 13, 56, tzinfo=UTC)},
        {"content": "Ada fears heights."},
    )
    own, foreign = ada.questions
    assert own.is_right("Ada keeps bees.")
    assert not own.is_right("Ada fears heights.")
    assert (foreign.kind, foreign.text) == (FOREIGN, bo.questions[0].text)


def test_a_mixed_store_accepts_the_fact_its_turn_and_the_right_chunk(folder: Path) -> None:
    (store,) = stores("mixed", folder, owner_limit=1)
    assert store.items[0] == {
        "content": "I keep bees. [shares a hive]",
        "conversation": "talk-Ada-1",
        "role": "user",
        "name": "Ada",
        "at": datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
    }
    people, document, _ = store.questions
    assert people.gold == {"Ada keeps bees.", "I keep bees. [shares a hive]"}
    assert (document.text, document.is_right(PARAGRAPH)) == ("en 3", True)


def test_documents_begin_with_their_title(folder: Path) -> None:
    (store,) = stores("docs", folder)
    (document,) = store.documents
    assert document.text == f"# Blue_Bridge\n\n{PARAGRAPH}"
    assert [each.kind for each in store.questions] == ["docs en"] * 4 + [FOREIGN] * 2


def test_other_languages_ask_every_third_question_each(folder: Path) -> None:
    (store,) = stores("cross", folder)
    assert [each.text for each in store.questions[:5]] == ["de 2", "es 2", "ru 2", "tr 2", "zh 2"]


def test_typing_errors_change_own_questions_only(folder: Path) -> None:
    plain, wrong = stores("facts", folder)[0], stores("typos facts", folder)[0]
    assert plain.questions[0].text != wrong.questions[0].text
    assert plain.questions[0].gold == wrong.questions[0].gold
    assert plain.questions[1:] == wrong.questions[1:]


def test_two_long_words_are_misspelt_and_always_in_the_same_way() -> None:
    question = "Which instruments does Caroline play at home?"
    for seed in range(20):
        changed = misspelt(question, seed)
        pairs = list(zip(question.split(), changed.split(), strict=True))
        assert changed == misspelt(question, seed)
        assert {right for right, wrong in pairs if right != wrong} <= {"instruments", "Caroline"}
        assert all(right[0] == wrong[0] for right, wrong in pairs)
    assert misspelt("Who is he?", 1) == "Who is he?"


def test_a_chunk_must_hold_the_answer_and_its_surroundings() -> None:
    passage = Passage.of(PARAGRAPH, "1808")
    assert passage.is_in(PARAGRAPH.replace(" ", "\n"))
    assert not passage.is_in("Another bridge was built in 1808.")
    assert not passage.is_in("The bridge over the Moika was built in")


def test_every_part_can_be_read_and_a_missing_file_is_named(folder: Path, tmp_path: Path) -> None:
    for name in PARTS:
        assert all(store.questions for store in stores(name, folder)), name
    with pytest.raises(MissingDataError, match="small"):
        stores("small", tmp_path / "nowhere")


def test_a_file_with_a_longer_name_is_another_dataset(folder: Path) -> None:
    assert read_file(folder, "locomo") == TALKS
    assert read_file(folder, "locomo_facts") == FACTS
