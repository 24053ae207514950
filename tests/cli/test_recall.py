"""`mnemic recall`: what people, prompts and programs get to see."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from mnemic import Memory
from mnemic.cli.output import out
from tests.cli.conftest import Run
from tests.process_output import complaints

WIDE = 160
TURNS = [
    {"role": "user", "name": "Alice", "content": "I live in Berlin now.", "at": "2026-03-01T10:00:00Z"},
    {"role": "assistant", "content": "How do you like Berlin?", "at": "2026-03-01T10:00:05Z"},
]


@pytest.fixture
def told(memory: Memory) -> Memory:
    """A memory of two turns and a tagged preference."""
    memory.retain(TURNS, conversation="c-1")
    memory.retain(
        "Berlin has good tea.",
        category="preference",
        tags=["tea"],
        confidence=0.5,
        source="imported",
        metadata={"city": {"name": "Berlin", "size": 3}},
    )
    return memory


def contents(ended_json: dict[str, list[dict[str, dict[str, str]]]]) -> list[str]:
    return [hit["memory"]["content"] for hit in ended_json["hits"]]


def test_hits_are_listed_best_first_with_score_day_and_speaker(mnemic: Run, told: Memory) -> None:
    ended = mnemic("recall", "Who lives in Berlin now?")
    assert (ended.code, ended.err) == (0, "")
    head, first, *_ = ended.out.splitlines()
    assert head.split() == ["score", "when", "who", "what"]
    place, score, day, who, *words = first.split()
    assert (place, day, who, " ".join(words)) == ("1", "2026-03-01", "Alice", "I live in Berlin now.")
    assert float(score) == round(told.recall("Who lives in Berlin now?")[0].score, 2)
    assert "3 hits in " in ended.out


def test_long_contents_are_shortened_to_the_width(mnemic: Run, memory: Memory) -> None:
    memory.retain("Berlin\nis large. " + "東京 too. " * 100)
    lines = mnemic("recall", "Berlin").out.splitlines()
    assert "Berlin is large." in lines[1]
    assert lines[1].rstrip().endswith("…")
    assert out.width - 2 <= cell_len(lines[1].rstrip()) <= out.width


def test_words_of_others_are_neither_markup_nor_obeyed_by_the_terminal(mnemic: Run, memory: Memory) -> None:
    memory.retain("[bold]Berlin[/] is \x1b[31mred\x07.", conversation="[red]c[/]")
    ended = mnemic("recall", "Berlin", "--explain")
    assert ended.code == 0
    assert "[bold]Berlin[/] is [31mred ." in ended.out
    assert "[red]c[/]" in ended.out
    assert not {"\x1b", "\x07"} & set(ended.out)


FILTERS = {
    "limit": (("--limit", 1), ["I live in Berlin now."]),
    "category": (("--category", "preference", "--category", "procedural"), ["Berlin has good tea."]),
    "tag": (("--tag", "TEA"), ["Berlin has good tea."]),
    "every tag": (("--tag", "tea", "--tag", "x"), []),
    "conversation": (("--conversation", "c-1"), [turn["content"] for turn in TURNS]),
    "since": (("--since", "2026-03-01T10:00:05Z", "--until", "2026-03-02T00:00:00Z"), [TURNS[1]["content"]]),
    "until": (("--until", "2026-03-01T10:00:05Z"), [TURNS[0]["content"]]),
    "min confidence": (("--min-confidence", 0.6), [turn["content"] for turn in TURNS]),
    "channels": (("--channels", "work"), []),
    "status": (("--status", "archived", "--status", "superseded"), []),
    "metadata": (("--metadata", '{"city": {"name": "Berlin"}}'), ["Berlin has good tea."]),
    "role": (("--role", "assistant"), [TURNS[1]["content"]]),
    "name": (("--name", "Alice"), [TURNS[0]["content"]]),
    "document": (("--document", "guide"), []),
    "source": (("--source", "imported"), ["Berlin has good tea."]),
    "min score": (("--min-score", 1), []),
    "as of": (("--as-of", "2020-01-01T00:00:00Z"), []),
    "owner": (("--owner", "bob"), []),
}


@pytest.mark.parametrize(("options", "expected"), FILTERS.values(), ids=FILTERS)
def test_options_filter(mnemic: Run, told: Memory, options: tuple[object, ...], expected: list[str]) -> None:
    answer = mnemic("recall", "I live in Berlin now", "--json", *options).json
    assert sorted(contents(answer)) == sorted(expected)
    assert answer["refused"] is (expected == [])


def test_a_channel_is_searched_together_with_the_global_one(mnemic: Run, told: Memory) -> None:
    told.retain("Berlin at work.", channel="work")
    told.retain("Berlin at play.", channel="play")
    found = contents(mnemic("recall", "Berlin", "--channel", "work", "--json").json)
    assert "Berlin at work." in found
    assert "I live in Berlin now." in found
    assert "Berlin at play." not in found


def test_words_about_time_count_from_the_moment_of_asking(mnemic: Run, told: Memory) -> None:
    answer = mnemic("recall", "Berlin yesterday", "--at", "2026-03-02T09:00:00Z", "--json").json
    assert answer["counts"]["time"] == 2
    assert [hit["explain"]["scores"].get("time", 0) > 0 for hit in answer["hits"]].count(True) == 2


def test_techniques_are_chosen(mnemic: Run, told: Memory) -> None:
    answer = mnemic("recall", "Berlin", "--technique", "text", "--technique", "time", "--json").json
    assert answer["counts"] == {"text": 3, "time": 0}
    assert "embed" not in answer["timings"]


def test_a_refusal_says_why_and_is_no_failure(mnemic: Run, told: Memory) -> None:
    query = "Quantum chromodynamics?"
    ended = mnemic("recall", query, "--refuse-below", 0.9)
    assert (ended.code, ended.err) == (0, "")
    said = " ".join(ended.out.split())
    assert said.startswith("Refused. Nothing stored is close enough to the query: confidence ")
    assert "below the threshold 0.90" in said
    assert "--refuse-below 0 shows" in said
    assert "Berlin" in mnemic("recall", query, "--refuse-below", 0).out


def test_weak_hits_are_marked_and_strict_refuses_them(mnemic: Run, told: Memory) -> None:
    query = "Quantum chromodynamics?"
    marked = "These memories may not answer the question (confidence 0."
    shown = mnemic("recall", query, "--refuse-below", 0).out
    assert " ".join(shown.split()).startswith(f"Weak. {marked}")
    assert mnemic("recall", query, "--refuse-below", 0, "--text").out.startswith(marked)
    assert mnemic("recall", query, "--refuse-below", 0, "--json").json["outcome"] == "weak"
    assert mnemic("recall", query, "--strict").out.startswith("Refused. ")
    assert "Weak." not in mnemic("recall", "Who lives in Berlin now?").out


def test_a_chunk_is_listed_with_its_document(mnemic: Run, memory: Memory) -> None:
    memory.documents.put("guide.md", "The boiler shows E55.")
    assert " guide.md  The boiler shows E55." in mnemic("recall", "boiler E55").out


def test_metadata_must_be_a_json_object(mnemic: Run, told: Memory) -> None:
    ended = mnemic("recall", "Berlin", "--metadata", "[1]")
    assert ended.code != 0
    assert "--metadata must be a JSON object" in ended.said


def test_a_recall_is_recorded_unless_the_option_says_otherwise(mnemic: Run, told: Memory) -> None:
    assert "Berlin" in mnemic("recall", "Berlin tea", "--no-record").out
    assert {record.retrieval_count for record in told.memories.list()} == {0}
    assert "Berlin" in mnemic("recall", "Berlin tea").out
    assert {record.retrieval_count for record in told.memories.list()} == {1}


def test_an_empty_memory_says_that_there_is_nothing(mnemic: Run, memory: Memory) -> None:
    said = " ".join(mnemic("recall", "Berlin", "--explain").out.split())
    assert said.startswith("Refused. The owner 'alice' has no memories.")
    assert "--refuse-below" not in said


def test_explain_shows_the_parts_that_add_up_to_the_score(
    mnemic: Run, told: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "width", WIDE)
    # A recall that is counted raises the salience of its hits.
    shown = mnemic("recall", "Who lives in Berlin now?", "--explain", "--no-record").out
    table = shown[shown.index("\npart ") :].splitlines()
    first = {" ".join(line.split()[:-3]): line.split()[-3:] for line in table if line.count(".") == 3}
    best = mnemic("recall", "Who lives in Berlin now?", "--json", "--no-record").json["hits"][0]
    assert first["sum"][0] == f"{best['explain']['fused']:+.2f}"
    assert first["score, 0 to 1"][0] == f"{best['score']:.2f}"
    assert sum(best["explain"]["scores"].values()) == pytest.approx(best["explain"]["fused"], abs=0.01)
    assert first["meaning"][0] == f"{best['explain']['scores']['meaning']:+.2f}"


def test_explain_shows_where_hits_come_from_and_where_the_time_went(
    mnemic: Run, told: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "width", WIDE)
    shown = mnemic("recall", "Who lives in Berlin now?", "--explain").out
    assert "text, vector" in shown
    assert "c-1 (live, berlin)" in shown
    (spent,) = [line for line in shown.splitlines() if line.startswith("milliseconds: ")]
    assert "understand " in spent
    assert "refuses below 0.25; confidence: cosine +" in shown
    assert "candidates: text 3, graph 0, vector 3, time 0" in shown
    assert "grant" not in shown
    assert "evidence" not in shown
    assert "milliseconds" not in mnemic("recall", "Berlin").out


def test_explain_names_evidence_and_the_grant_that_let_a_memory_in(
    mnemic: Run, told: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "width", WIDE)
    bob = told.scope(owner="bob")
    bob.retain("Bob likes Berlin best.", name="Rob", evidence="https://example.org/bob")
    grant = bob.shares.grant("alice", reason="friends")
    told.shares.accept(grant.grant_id)
    shown = mnemic("recall", "Does Bob like Berlin?", "--explain").out
    assert str(grant.grant_id) in shown
    assert "https://example.org/bob" in shown
    assert "bob: Rob" in shown
    assert "alice: Alice" in shown


def test_many_hits_are_explained_in_several_tables(mnemic: Run, memory: Memory) -> None:
    memory.retain([f"Berlin has district number {number}." for number in range(12)])
    shown = mnemic("recall", "Berlin", "--limit", 12, "--explain").out
    heads = [line for line in shown.splitlines() if line.startswith("part ")]
    assert len(heads) > 1
    assert " ".join(" ".join(heads).split()).replace("part ", "") == " ".join(
        f"hit {place}" for place in range(1, 13)
    )


def test_the_text_for_a_prompt_stands_alone(mnemic: Run, told: Memory) -> None:
    ended = mnemic("recall", "Who lives in Berlin now?", "--text")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == told.recall("Who lives in Berlin now?").text + "\n"
    assert ended.out.startswith("[2026-03-01] Alice: I live in Berlin now.\n")


def test_what_does_not_fit_into_the_tokens_is_said_beside_the_text(mnemic: Run, told: Memory) -> None:
    ended = mnemic("recall", "Who lives in Berlin now?", "--text", "--max-tokens", 25)
    assert ended.out == "[2026-03-01] Alice: I live in Berlin now.\n"
    assert ended.said == "2 of the hits did not fit into max_tokens."
    assert "Note: 2 of the hits" in mnemic("recall", "Who lives in Berlin now?", "--max-tokens", 25).out


def test_a_refusal_leaves_the_text_empty(mnemic: Run, memory: Memory) -> None:
    ended = mnemic("recall", "Berlin", "--text")
    assert (ended.code, ended.out) == (0, "")
    assert ended.said == "The owner 'alice' has no memories."


def test_json_leaves_out_null_fields_unless_asked_for(mnemic: Run, told: Memory) -> None:
    told.retain("Alice lives in Berlin now, too.", metadata={"flat": None})
    answer = mnemic("recall", "Who lives in Berlin now?", "--json").json
    whole = mnemic("recall", "Who lives in Berlin now?", "--json", "--all-fields").json
    assert ("reason" in answer, whole["reason"]) == (False, None)
    for short, full in zip(answer["hits"], whole["hits"], strict=True):
        assert full["memory"]["valid_to"] is None
        assert None not in short["memory"].values()
        assert short["memory"]["memory_id"] == full["memory"]["memory_id"]
        assert "grant_id" not in short["explain"]
    assert {"flat": None} in [hit["memory"]["metadata"] for hit in answer["hits"]]


def test_json_holds_everything(mnemic: Run, told: Memory) -> None:
    answer = mnemic("recall", "Who lives in Berlin now?", "--json").json
    assert answer["query"] == "Who lives in Berlin now?"
    assert (answer["refused"], len(answer["hits"])) == (False, 3)
    assert answer["token_count"] > 0
    assert answer["timings"]["total"] > 0
    best = answer["hits"][0]
    assert best["memory"]["at"] == "2026-03-01T10:00:00+00:00"
    assert best["explain"]["found_by"] == ["text", "vector"]
    assert best["explain"]["words"] == ["live", "berlin"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("",), "query must not be empty"),
        (("x", "--limit", 0), "--limit must be a whole number from 1 to 1,000"),
        (("x", "--max-tokens", 0), "--max-tokens must be"),
        (("x", "--category", "fact"), "--category must be one of factual,"),
        (("x", "--technique", "magic"), "--technique must be one of vector,"),
        (("x", "--since", "2026-03-01T10:00"), "--since has no time zone"),
        (("x", "--as-of", "yesterday"), "--as-of must be a date"),
        (("x", "--at", "soon"), "--at must be a date"),
        (("x", "--min-confidence", 2), "--min-confidence must be a number from 0 to 1"),
        (("x", "--refuse-below", "nan"), "--refuse-below must be a finite number"),
        (("x", "--text", "--json"), "--text prints only the text"),
        (("x", "--text", "--explain"), "--text prints only the text"),
        (("x", "--owner", ""), "--owner must have 1 to 256"),
    ],
)
def test_bad_arguments_end_in_one_clear_message(
    mnemic: Run, arguments: tuple[object, ...], message: str
) -> None:
    ended = mnemic("recall", *arguments)
    assert (ended.code, ended.out) == (1, "")
    assert ended.said.startswith("Error: ")
    assert message in ended.said


def test_without_an_owner_nothing_is_recalled(mnemic: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MNEMIC_OWNER")
    ended = mnemic("recall", "x")
    assert (ended.code, "No owner" in ended.said) == (1, True)


def test_a_password_in_the_url_is_not_shown(mnemic: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNEMIC_CONNECT_TIMEOUT_S", "2")
    ended = mnemic("recall", "x", "--url", "postgresql://alice:hunter2@127.0.0.1:1/x")
    assert (ended.code, ended.out) == (1, "")
    assert "hunter2" not in ended.err


def test_characters_that_a_terminal_lacks_are_no_crash(folder: Path, tenant: str, memory: Memory) -> None:
    memory.retain("Grüße aus Köln 👋.")
    shown = subprocess.run(
        [str(Path(sys.executable).with_name("mnemic")), "recall", "Köln", "--text"],
        env=os.environ
        | {
            "MNEMIC_DATA_DIR": str(folder),
            "MNEMIC_TENANT": tenant,
            "MNEMIC_OWNER": "alice",
            "MNEMIC_EMBEDDER": "test",
            "PYTHONIOENCODING": "latin-1",
        },
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert (shown.returncode, complaints(shown.stderr)) == (0, "")
    assert "Grüße aus Köln \\U0001f44b.".encode("latin-1") in shown.stdout
