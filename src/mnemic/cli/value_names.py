"""Names of values in the help of commands: `<text>` and `<number>` instead of the names of Python's types."""

from typing import Any

import typer

NAMES = {
    "<str>": "<text>",
    "<list[str]>": "<text>",
    "<int>": "<number>",
    "<int range>": "<number>",
    "<float>": "<number>",
    "<float range>": "<number>",
    "<bool>": "",
}


def name_values(command: Any) -> None:
    """Name the values of all options of a command and of the commands below it."""
    context = typer.Context(command)
    for option in command.params:
        if isinstance(option, typer.core.TyperOption) and option.metavar is None:
            option.metavar = NAMES.get(option.display_type(context))
    for inner in getattr(command, "commands", {}).values():
        name_values(inner)
