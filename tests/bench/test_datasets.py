"""The readers of public questions, on tiny made-up samples in the shape of each file."""

import json
import lzma
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bench.datasets import (
    SOURCES,
    MissingDataError,
    load,
    read_beam,
    read_locomo,
    read_longmemeval,
)

DIALOGUE: dict[str, Any] = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ada",
        "speaker_b": "Bo",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ada", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red kite"},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice."},
        ],
        "session_2_date_time": "12:05 am on 1 June, 2023",
        "session_2": [{"speaker": "Ada", "dia_id": "D2:5", "text": "It flew off."}],
    },
    "qa": [
        {"question": "What did Ada show?", "evidence": ["D1:01"], "category": 4},
        {"question": "Which kite flew off?", "evidence": ["D1:1; D2:5"], "category": 1},
        {"question": "When?", "evidence": ["D:2:5", "D9:9"], "category": 2},
        {"question": "Why?", "evidence": [], "category": 3},
        {"question": "Who?", "evidence": ["D9:9"], "category": 5},
    ],
}
HAYSTACK: dict[str, Any] = {
    "question_id": "q1",
    "question_type": "multi-session",
    "question": "How many kites?",
    "question_date": "2023/05/30 (Tue) 22:53",
    "answer_session_ids": ["s2"],
    "haystack_session_ids": ["s1", "s2", "s1"],
    "haystack_dates": ["2023/05/20 (Sat) 10:44", "2023/05/21 (Sun) 10:44", "2023/05/22 (Mon) 10:44"],
    "haystack_sessions": [
        [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": " "}],
        [{"role": "user", "content": "Two kites"}],
        [{"role": "user", "content": "Hello"}],
    ],
}
CHAT: dict[str, Any] = {
    "chat_id": "7",
    "messages": [
        {"id": 0, "role": "user", "content": "Plan it", "time": "March-15-2024"},
        {"id": 1, "role": "assistant", "content": "Done", "time": None},
    ],
    "questions": [
        {"type": "abstention", "question": "What colour?", "evidence": []},
        {"type": "summarization", "question": "What was planned?", "evidence": [0, 1]},
    ],
}


def test_a_turn_of_locomo_has_its_speaker_picture_session_and_time() -> None:
    first, second, third = read_locomo([DIALOGUE]).owners[0].turns
    assert first.item() == {
        "content": "Look! [shares a red kite]",
        "conversation": "session 1",
        "external_id": "D1:1",
        "at": datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        "name": "Ada",
    }
    assert second.dated == "1:56 pm on 8 May, 2023 Bo: Nice."
    assert third.at == datetime(2023, 6, 1, 0, 5, tzinfo=UTC)


def test_evidence_of_locomo_is_repaired_and_what_resolves_to_nothing_is_left_out() -> None:
    questions = read_locomo([DIALOGUE]).owners[0].questions
    assert {question.text: question.evidence for question in questions} == {
        "What did Ada show?": {"D1:1"},
        "Which kite flew off?": {"D1:1", "D2:5"},
        "When?": {"D2:5"},
    }
    assert [question.category for question in questions] == ["single-hop", "multi-hop", "temporal"]


def test_a_question_of_locomo_is_asked_at_the_time_of_the_last_turn() -> None:
    assert {question.at for question in read_locomo([DIALOGUE]).owners[0].questions} == {
        datetime(2023, 6, 1, 0, 5, tzinfo=UTC)
    }


def test_longmemeval_keeps_every_turn_that_says_something_under_an_id_of_its_own() -> None:
    turns = read_longmemeval([HAYSTACK]).owners[0].turns
    assert [(turn.turn_id, turn.conversation, turn.content) for turn in turns] == [
        ("0:0", "s1", "Hello"),
        ("1:0", "s2", "Two kites"),
        ("2:0", "s1", "Hello"),
    ]
    assert turns[1].role == "user"


def test_a_question_of_longmemeval_names_sessions_and_its_own_time() -> None:
    (question,) = read_longmemeval([HAYSTACK]).owners[0].answerable
    assert question.evidence == {"s2"}
    assert question.at == datetime(2023, 5, 30, 22, 53, tzinfo=UTC)


def test_an_abstention_question_of_longmemeval_has_no_evidence() -> None:
    owner = read_longmemeval([HAYSTACK | {"question_id": "q1_abs"}]).owners[0]
    assert not owner.answerable
    assert len(owner.unanswerable) == 1


def test_a_message_of_beam_without_a_time_has_that_of_the_one_before() -> None:
    owner = read_beam([CHAT]).owners[0]
    assert [turn.at for turn in owner.turns] == [datetime(2024, 3, 15, tzinfo=UTC)] * 2
    assert {turn.conversation for turn in owner.turns} == {"chat 7"}


def test_evidence_of_beam_is_named_like_its_messages() -> None:
    owner = read_beam([CHAT]).owners[0]
    assert owner.answerable[0].evidence == {turn.turn_id for turn in owner.turns}
    assert [question.category for question in owner.unanswerable] == ["abstention"]


@pytest.mark.parametrize("is_compressed", [True, False])
def test_a_set_is_read_from_the_file_with_its_name(tmp_path: Path, is_compressed: bool) -> None:
    written = json.dumps([CHAT]).encode()
    name = "beam_100k_tiny.json.xz" if is_compressed else "beam_100k_tiny.json"
    (tmp_path / name).write_bytes(lzma.compress(written) if is_compressed else written)
    assert load(SOURCES["beam"], tmp_path) == read_beam([CHAT])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="longmemeval_s"):
        load(SOURCES["longmemeval"], tmp_path)
