"""What holds for every command, sub-commands included: help, JSON, exit codes, secrets, completion."""

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
import typer

from mnemic.cli.app import app, built_commands
from tests.cli.conftest import Run

SECRET = "hunter2"
# What these do is not data: a show, a server that speaks a protocol, a process that ends.
WITHOUT_JSON = {"demo", "mcp", "stop", "worker"}


def leaves() -> dict[str, typer.core.TyperCommand]:
    """Every command that does something, by its words."""
    top = typer.main.get_command(app)
    assert isinstance(top, typer.core.TyperGroup)
    found: dict[str, typer.core.TyperCommand] = {}
    for name, command in top.commands.items():
        nested = command.commands if isinstance(command, typer.core.TyperGroup) else {"": command}
        for inner, leaf in nested.items():
            assert isinstance(leaf, typer.core.TyperCommand)
            found[f"{name} {inner}".strip()] = leaf
    return found


LEAVES = leaves()


def test_every_command_and_every_option_has_help(mnemic: Run, subtests: pytest.Subtests) -> None:
    for words in LEAVES:
        with subtests.test(words):
            check_help(mnemic, words)


def check_help(mnemic: Run, words: str) -> None:
    ended = mnemic(*words.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    assert f"mnemic {words} [OPTIONS]" in ended.out
    command = LEAVES[words]
    assert command.help
    undocumented = [
        parameter.name
        for parameter in command.params
        if isinstance(parameter, typer.core.TyperOption | typer.core.TyperArgument)
        and not getattr(parameter, "help", None)
    ]
    assert undocumented == []


def test_every_command_that_gives_data_gives_json() -> None:
    silent = {words for words, command in LEAVES.items() if "--json" not in options_of(command)}
    assert silent <= WITHOUT_JSON


def options_of(command: typer.core.TyperCommand) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def test_an_unknown_option_is_a_usage_error(mnemic: Run, subtests: pytest.Subtests) -> None:
    for words in LEAVES:
        with subtests.test(words):
            ended = mnemic(*words.split(), "--no-such-option")
            assert (ended.code, ended.out) == (2, "")


CONNECTING = (
    ("memories", "list"),
    ("memories", "get", "x"),
    ("entities", "list"),
    ("conversations", "list"),
    ("shares", "list"),
    ("stats",),
    ("metrics",),
    ("erase", "--owner", "x", "--yes"),
)


def test_no_command_shows_a_password(
    mnemic: Run, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.setenv("MNEMIC_CONNECT_TIMEOUT_S", "2")
    for scheme, arguments in product(("postgresql", "mysql", "https"), CONNECTING):
        with subtests.test(f"{scheme} {arguments}"):
            ended = mnemic(*arguments, "--url", f"{scheme}://alice:{SECRET}@127.0.0.1:1/x")
            assert (ended.code, ended.out) == (1, "")
            assert ended.err.startswith("Error: ")
            assert SECRET not in ended.err
            assert "Traceback" not in ended.err


def test_a_password_in_the_environment_is_not_shown(mnemic: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MNEMIC_DATA_DIR")
    monkeypatch.setenv("MNEMIC_CONNECT_TIMEOUT_S", "2")
    monkeypatch.setenv("MNEMIC_DATABASE_URL", f"postgresql://alice:{SECRET}@127.0.0.1:1/x")
    for arguments in (["stats"], ["doctor"], ["doctor", "--json"], ["memories", "list"]):
        ended = mnemic(*arguments)
        assert ended.code == 1
        assert SECRET not in ended.out + ended.err


SHELL_IS_NAMED = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"


@pytest.fixture
def shell_named(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Commands that were built with the variable that lets one name the shell: they are built only once."""
    monkeypatch.setenv(SHELL_IS_NAMED, "1")
    built_commands.cache_clear()
    yield
    built_commands.cache_clear()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.usefixtures("shell_named")
def test_completion_can_be_had_for_each_shell(mnemic: Run, shell: str) -> None:
    ended = mnemic("--show-completion", shell)
    assert (ended.code, "_MNEMIC_COMPLETE" in ended.out) == (0, True)


def test_completion_is_printed_by_a_process_of_its_own(tmp_path: Path) -> None:
    """As the shell runs it."""
    program = str(Path(sys.executable).with_name("mnemic"))
    environment = os.environ | asking_for("mnemic mem") | {"HOME": str(tmp_path)}
    done = subprocess.run(
        [program], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.split() == ["memories"]


def test_completion_knows_commands_and_options(mnemic: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(line: str) -> set[str]:
        for name, value in asking_for(line).items():
            monkeypatch.setenv(name, value)
        return set(mnemic().out.split())

    assert completed("mnemic mem") == {"memories"}
    assert completed("mnemic memories ") == {
        "list",
        "get",
        "update",
        "supersede",
        "forget",
        "restore",
        "history",
        "why",
        "feedback",
        "promotions",
        "map",
    }
    assert "--conversation" in completed("mnemic memories list --con")
    assert completed("mnemic import --from m") == {"mem0", "mcp-memory"}


def asking_for(line: str) -> dict[str, str]:
    """The environment with which bash asks how this line goes on."""
    words = str(len(line.split(" ")) - 1)
    return {"_MNEMIC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": words, SHELL_IS_NAMED: "1"}
