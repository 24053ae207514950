"""Numbered facts are read, and which of them are stale follows from the answer."""

import json
from pathlib import Path

from bench.mind_data import ConflictQuestion, ConflictSet, normalised, read_conflicts
from bench.mind_halumem import read_halumem, stems
from bench.mind_pairs import PAIR_COUNT, PATTERNS, hard_pairs

FACTS = (
    "The capital of Ruritania is Zenda.",
    "Goats live in Zenda.",
    "The capital of Graustark is Edelweiss.",
    "The capital of Ruritania is Strelsau.",
)
QUESTION = ConflictQuestion("What is the capital of Ruritania?", ("Strelsau",))


def test_earlier_facts_that_differ_in_the_answer_are_stale() -> None:
    conflicts = ConflictSet("sh_tiny", FACTS, (QUESTION,))
    assert conflicts.is_single_hop
    assert conflicts.stale_facts(QUESTION) == {FACTS[0]}
    assert conflicts.stale_facts(ConflictQuestion("Where do goats live?", ("Zenda",))) == frozenset()
    assert conflicts.stale_facts(ConflictQuestion("Who is it?", ("Nobody",))) == frozenset()
    times = [item["at"] for item in conflicts.items()]
    assert times == sorted(set(times))


def test_an_answer_is_a_normalised_substring() -> None:
    assert normalised("The U.S.A., and  a Zenda!") == "usa and zenda"
    assert QUESTION.is_answered_by("the capital is STRELSAU?")
    assert not QUESTION.is_answered_by("The capital is Zenda.")


def test_the_numbers_of_facts_are_left_out(tmp_path: Path) -> None:
    context = "Here is a list of facts:\n" + "\n".join(f"{n}. {fact}" for n, fact in enumerate(FACTS))
    written = {
        "source": "factconsolidation_sh_6k",
        "context": context,
        "questions": [QUESTION.text],
        "answers": [list(QUESTION.answers)],
    }
    (tmp_path / "conflicts_dev.json").write_text(json.dumps([written]))
    (found,) = read_conflicts(tmp_path)
    assert (found.name, found.facts, found.questions) == ("sh_6k", FACTS, (QUESTION,))


def test_planted_memories_are_told_from_true_ones_by_the_words_that_make_them_false(tmp_path: Path) -> None:
    def point(content: str, source: str, **more: str) -> dict[str, str]:
        return {"memory_content": content, "memory_source": source, "is_update": "False", **more}

    true = "Jo Hale likes rowing on the lake"
    session = {
        "memory_points": [
            point(true, "secondary"),
            point("Jo Hale likes sailing on the lake", "interference", reference_memory_content=true),
            point("Jo Hale is 40", "secondary") | {"is_update": "True"},
        ],
        "dialogue": [
            {"role": "user", "content": "I like rowing.", "timestamp": "Jan 15, 2029, 15:12:20"},
            {"role": "assistant", "content": "Sailing is fun.", "timestamp": "Jan 15, 2029, 15:13:20"},
        ],
    }
    user = {"persona_info": "[…] Name: Jo Hale; Gender: Male", "sessions": [session]}
    (tmp_path / "halumem_dev.json").write_text(json.dumps([user]))
    (found,) = read_halumem(tmp_path)
    assert [item["name"] for item in found.items] == ["Jo Hale", None]
    assert found.gold == (stems("likes rowing lake"),)
    (planted,) = found.planted
    assert planted.is_in([found.stems("Jo likes sailing on a lake")])
    assert not planted.is_in([found.stems(true)])


def test_hard_pairs_are_the_same_in_every_run_and_of_all_kinds() -> None:
    pairs = list(hard_pairs())
    assert len(pairs) == PAIR_COUNT
    assert pairs == list(hard_pairs())
    assert {pair.kind for pair in pairs} == set(PATTERNS)
    assert len({(pair.older, pair.newer) for pair in pairs}) == PAIR_COUNT
    assert all(pair.older != pair.newer for pair in pairs)
