"""Messages of the SDK are reworded for the command line; what is reworded must still be what the SDK says."""

from pathlib import Path

import pytest

import mnemic
from mnemic.cli.error_messages import ADVICE, LOCAL_ONLY, message_of
from mnemic.errors import ConfigurationError
from tests.cli.conftest import Run

SOURCE = Path(mnemic.__file__).parent
PYTHON_WORDS = ("Decimal", "float", "str(", "int,", "None", "True", "memory.", "_usd")


def test_every_reworded_text_is_one_of_the_sdk() -> None:
    texts = "\n".join(
        path.read_text("utf-8") for path in SOURCE.rglob("*.py") if SOURCE / "cli" not in path.parents
    )
    joined = texts.replace('"\n', "\n").replace('f"', '"')
    one_line = "".join(part.lstrip().removeprefix('"') for part in joined.split("\n"))
    assert [python for python in ADVICE if python not in texts and python not in one_line] == []


def test_what_needs_the_database_is_said_without_the_call() -> None:
    error = ConfigurationError("memory.admin.backup is not available over HTTP: the file is on the server.")
    assert LOCAL_ONLY.search(str(error)) is not None
    assert message_of(error, None) == "This cannot be done over HTTP: the file is on the server."


@pytest.mark.parametrize(
    "words",
    [
        ("spend", "cap", "--day", "abc"),
        ("spend", "price", "a:b", "--input", "1.5x", "--output", "2"),
        ("strategies", "find", "a task", "--limit", 1000),
    ],
)
def test_mistakes_are_named_without_words_of_python(mnemic: Run, words: tuple[object, ...]) -> None:
    ended = mnemic(*words)
    assert (ended.code, ended.out) == (1, "")
    assert "must be a number such as" in ended.said or "--limit must be a whole number from 1" in ended.said
    assert [word for word in PYTHON_WORDS if word in ended.said] == []
