"""The reference pages name every setting and every command."""

from pathlib import Path

import typer

from mnemic.cli.app import app
from mnemic.config import Settings
from tools.generate_docs import cli_page, sdk_page, settings_page

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


def test_the_settings_table_is_what_the_code_says() -> None:
    page = (REFERENCE / "settings.md").read_text("utf-8")
    documented = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert documented == {f"MNEMIC_{name.upper()}" for name in Settings.model_fields}
    assert page == settings_page()


def test_every_setting_says_what_it_means() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_every_command_is_documented() -> None:
    page = (REFERENCE / "cli.md").read_text("utf-8")
    command = typer.main.get_command(app)
    assert isinstance(command, typer.core.TyperGroup)
    assert [name for name in command.commands if f"## `mnemic {name}`" not in page] == []
    assert page == cli_page()


def test_every_call_of_the_sdk_is_documented_and_says_what_it_does() -> None:
    page = (REFERENCE / "sdk.md").read_text("utf-8")
    assert "```\n\n\n" not in page, "a call without a docstring"
    assert "### `memory.retain`" in page
    assert "### `memory.entities.graph`" in page
    assert page == sdk_page()
