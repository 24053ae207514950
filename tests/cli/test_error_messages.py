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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("recall", "tea", "--limit", "many"), "'--limit': it must be a whole number."),
        (("recall", "tea", "--min-score", "high"), "'--min-score': it must be a number."),
        (("serve", "--port", "99999"), "'--port': it must be at most 65535."),
        (("keys", "create", "--role", "owner"), "'--role': 'owner' is not one of 'read', 'write', 'admin'."),
    ],
)
def test_values_that_an_option_does_not_take_are_refused_in_plain_words(
    mnemic: Run, words: tuple[str, ...], said: str
) -> None:
    ended = mnemic(*words)
    assert (ended.code, ended.out) == (2, "")
    assert said in " ".join(ended.err.replace("│", " ").split())


def test_a_server_that_was_never_reached_has_stored_nothing(
    mnemic: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_API_KEY", f"mn_{'a' * 43}")
    ended = mnemic("memories", "list", "--url", "http://127.0.0.1:1")
    assert ended.said.endswith("cannot be reached (ConnectError). Is it running?")
