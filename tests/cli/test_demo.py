"""`mnemic demo`: what it shows is true, and it leaves nothing behind."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS_MAX = 60


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the demo prints into a pipe; its own folder is gone afterwards."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [str(Path(sys.executable).with_name("mnemic")), "demo"],
        env=os.environ | {"TMPDIR": str(folder), "COLUMNS": "100", "MNEMIC_EMBEDDER": "local"},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.glob("mnemic-*")) == []
    return done.stdout


def first_hit(shown: str, query: str) -> str:
    """The best hit under a question."""
    answer = shown[shown.index(f"recall({query!r})") :].splitlines()
    return answer[2]


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("What can't Alice eat?", "allergic to peanuts"),
        ("Where did I go last week?", "Pergamon museum"),
        ("What was stolen from me in March?", "my bike was stolen"),
    ],
)
def test_questions_find_their_memory_first(shown: str, query: str, content: str) -> None:
    line = first_hit(shown, query)
    assert content in line
    assert re.match(r"1 +0\.\d\d +2026-", line)


def test_one_hit_is_explained(shown: str) -> None:
    explained = shown[shown.index("Explain") : shown.index("Time,")]
    assert "found by" in explained
    assert re.search(r"^meaning +\+\d", explained, re.MULTILINE)
    assert re.search(r"^sum +\+\d", explained, re.MULTILINE)


def test_what_was_never_said_is_refused(shown: str) -> None:
    refused = shown[shown.index("football club") :].splitlines()[1]
    assert refused.startswith("Refused. Nothing stored is close enough to the query")


def test_facts_change_and_walls_hold(shown: str) -> None:
    assert "now: Alice lives in Paris." in shown
    assert "as of a moment ago: Alice lives in Berlin." in shown
    assert re.search(r"this tenant holds \d+ memories, another one finds 0", shown)
    assert re.search(r"\d+ rows are gone, 0 are left", shown)


def test_it_ends_with_how_to_go_on_and_uses_no_colours_in_a_pipe(shown: str) -> None:
    assert "mnemic recall " in shown[shown.index("Go on") :]
    assert "\x1b" not in shown
