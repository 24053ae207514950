"""The tutorial of the server runs from an empty folder with a new home, command by command.

Its commands run in one shell, as a newcomer types them, and each prints what the page says; `…` on the page
stands for anything. Two things differ: the step that installs is skipped, as the page allows where `mnemic`
is there already, and the port is a free one.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from mnemic.db.embedded import stop
from tests.free_port import free_port
from tests.waiting import wait_until
from tests.warm_start.starting import WarmStart

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial-server.md"
PORT = "8420"
MARK = "@@ command"
START_TIMEOUT_S = 120.0
SHELL_TIMEOUT_S = 180
STOP_TIMEOUT_S = 60


@dataclass(frozen=True)
class Command:
    """A line of the page, and what it prints according to it."""

    line: str
    printed: str

    @property
    def expected(self) -> re.Pattern[str]:
        parts = map(re.escape, self.printed.strip().split("…"))
        return re.compile(".*".join(parts) + r"\s*", re.DOTALL)


def page(port: str) -> str:
    """The page behind its first step, with another port."""
    text = PAGE.read_text("utf-8")
    return text[text.index("$ mnemic --version") - len("```console\n") :].replace(PORT, port)


def commands(text: str) -> list[Command]:
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line = re.match(r"(?:.*\\\n)*.*\n", part)
            assert line is not None
            found.append(Command(line[0].strip(), part[line.end() :]))
    return found


def files(text: str) -> dict[str, str]:
    """Programs by the names that the page tells to save them under."""
    return dict(re.findall(r"as `(\w+\.py)`:\n\n```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


@pytest.fixture
def port() -> str:
    return str(free_port())


@pytest.fixture
def environment(tmp_path: Path, warm_start: WarmStart) -> Iterator[dict[str, str]]:
    """A new home, and `mnemic` and `python` of the environment that the tests run in."""
    home = tmp_path / "home"
    home.mkdir()
    folders = [Path(warm_start.mnemic).parent, Path(sys.executable).parent, "/usr/bin", "/bin"]
    yield {"HOME": str(home), "PATH": ":".join(map(str, folders)), "LANG": "C.UTF-8"}
    stop(home / ".local" / "share" / "mnemic")


def run_in_shell(lines: list[str], folder: Path, environment: dict[str, str]) -> list[str]:
    """What each of the commands printed; the first that fails ends the test."""
    script = "\n".join(["set -eu", *(f'echo "{MARK}"\n{line}' for line in lines)])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SHELL_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(f"{MARK}\n")[1:]


def test_the_tutorial_runs_from_an_empty_folder(
    tmp_path: Path, port: str, environment: dict[str, str], warm_start: WarmStart
) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    text = page(port)
    (serve,) = [command for command in commands(text) if command.line == "mnemic serve"]
    others = [command for command in commands(text) if command != serve]
    for name, program in files(text).items():
        (folder / name).write_text(program, "utf-8")
    served = folder / "served.txt"
    with (
        served.open("w") as output,
        subprocess.Popen(
            [warm_start.mnemic, "serve", "--port", port],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
        ) as server,
    ):
        try:
            wait_until(lambda: is_ready(port), timeout_s=START_TIMEOUT_S, what="the server")
            printed = run_in_shell([command.line for command in others], folder, environment)
        finally:
            server.terminate()
            code = server.wait(STOP_TIMEOUT_S)
    assert code == 0
    assert serve.printed.strip() in served.read_text("utf-8")
    wrong = [
        (command.line, text)
        for command, text in zip(others, printed, strict=True)
        if not command.expected.fullmatch(text)
    ]
    assert wrong == []
    assert {path.name for path in folder.iterdir()} == {"ask.py", "agent.py", "alice.key", "served.txt"}


def is_ready(port: str) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/readyz").is_success
    except httpx.TransportError:
        return False
