"""The reference pages name every setting and every command."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from mnemic.cli.app import app
from mnemic.config import Settings
from mnemic.sdk.job_table import JOBS
from tools.generate_docs import cli_page, sdk_page, settings_page

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


def test_the_settings_table_is_what_the_code_says() -> None:
    page = (REFERENCE / "settings.md").read_text("utf-8")
    documented = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert documented == {f"MNEMIC_{name.upper()}" for name in Settings.model_fields}
    assert page == settings_page()


def test_every_setting_says_what_it_means() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_every_default_schedule_is_documented() -> None:
    page = (REFERENCE.parent / "how-to" / "schedules.md").read_text("utf-8")
    documented = dict(re.findall(r"^\| `([^`]+)` \| `([a-z_.]+)` \|", page, re.MULTILINE))
    assert documented == {schedule.name: job_type for schedule, job_type in JOBS.default_schedules}


def test_every_command_is_documented() -> None:
    page = (REFERENCE / "cli.md").read_text("utf-8")
    undocumented = []
    for words, command in _commands("mnemic", typer.main.get_command(app)):
        _, found, text = page.partition(f"# `{words}`\n")
        own = text.partition("\n#")[0]
        undocumented += [] if found else [words]
        undocumented += [
            f"{words} {option}"
            for parameter in command.params
            for option in parameter.opts
            if option.startswith("--") and f"`{option}" not in own and f"/ {option}" not in own
        ]
    assert undocumented == []
    assert page == cli_page()


def _commands(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command and all below it, with the words that call them."""
    yield words, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(f"{words} {name}", inner)


def test_every_call_of_the_sdk_is_documented_and_says_what_it_does() -> None:
    page = (REFERENCE / "sdk.md").read_text("utf-8")
    assert "```\n\n\n" not in page, "a call without a docstring"
    assert "### `memory.retain`" in page
    assert "### `memory.entities.graph`" in page
    assert page == sdk_page()
