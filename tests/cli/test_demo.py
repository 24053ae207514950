"""`mnemic demo`: what it shows is true, and it leaves nothing behind."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mnemic.db.embedded import stop
from tests.process_output import complaints

SECONDS_MAX = 300


@dataclass(frozen=True)
class Reader:
    """Somebody new: an empty home, a folder to work in, and the way to `mnemic` from there."""

    folder: Path
    environment: dict[str, str]
    program: str


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("demo")
    home = folder / "home"
    home.mkdir()
    places = {"TMPDIR": str(folder), "HOME": str(home), "PATH": os.defpath, "COLUMNS": "100"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MNEMIC_")}
    program = os.path.relpath(Path(sys.executable).with_name("mnemic"), folder)
    yield Reader(folder, environment | places, program)
    stop(home / ".local" / "share" / "mnemic")


@pytest.fixture(scope="module")
def shown(reader: Reader) -> str:
    """What the demo prints into a pipe; its own folder is gone afterwards."""
    done = subprocess.run(
        [reader.program, "demo"],
        cwd=reader.folder,
        env=reader.environment,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert (done.returncode, complaints(done.stderr)) == (0, "")
    assert [left.name for left in reader.folder.iterdir()] == ["home"]
    return done.stdout


def first_hit(shown: str, query: str) -> str:
    """The best hit under a question."""
    answer = shown[shown.index(f"recall({query!r})") :].splitlines()
    return answer[2]


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("What is Alice allergic to?", "allergic to peanuts"),
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
    assert "Alice lives in Paris. (active, current)" in shown
    assert "Alice lives in Berlin. (superseded, until 2026-04-07)" in shown
    why = shown[shown.index("Why do you believe this?") :]
    assert '- "I moved to Paris." (2026-04-07, Alice (user)' in why
    assert re.search(r"this tenant holds \d+ memories, another one finds 0", shown)
    assert re.search(r"\d+ rows are gone, 0 are left", shown)


def test_the_commands_at_its_end_work_as_printed(shown: str, reader: Reader) -> None:
    program = re.escape(reader.program)
    commands = re.findall(rf"^{program} (?:retain|recall|erase) .*$", shown, re.MULTILINE)
    assert len(commands) == 3
    done = subprocess.run(
        ["sh", "-ec", "\n".join(commands)],
        cwd=reader.folder,
        env=reader.environment,
        input="y\n",
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Alice plays the cello." in done.stdout
    assert re.search(r"Receipt .*: \d+ rows\.", done.stdout)


def test_it_uses_no_colours_in_a_pipe(shown: str) -> None:
    assert "\x1b" not in shown
