"""Values in the help of commands: `<text>` and `<number>` instead of the names of Python's types."""

from typing import Any

import typer

TEXT = "<text>"
NAMES = {
    "<str>": TEXT,
    "<list[str]>": TEXT,
    "<list[Path]>": "<path>",
    "<int>": "<number>",
    "<int range>": "<number>",
    "<float>": "<number>",
    "<float range>": "<number>",
    "<bool>": "",
}
# Choices up to this length stay whole in the column of values of a terminal of 80 characters.
CHOICES_MAX_CHARACTERS = 24


def name_values(command: Any) -> None:
    """Name the values of all arguments and options of a command and of the commands below it."""
    context = typer.Context(command)
    for parameter in (*command.params, command.get_help_option(context)):
        if isinstance(parameter, typer.core.TyperArgument):
            _name_argument(parameter, NAMES.get(parameter.display_type(context)))
        elif isinstance(parameter, typer.core.TyperOption) and parameter.metavar is None:
            _name_option(parameter, parameter.display_type(context) or "")
    for inner in getattr(command, "commands", {}).values():
        name_values(inner)


def _name_argument(argument: typer.core.TyperArgument, name: str | None) -> None:
    """Show a type under this name; a metavar would also replace the argument's name in the usage."""
    if name is not None:
        argument.display_type = lambda ctx: name  # type: ignore[method-assign]


def _name_option(option: typer.core.TyperOption, shown: str) -> None:
    """Name the value of an option; many choices become a sentence of its help."""
    if "|" in shown and len(shown) > CHOICES_MAX_CHARACTERS:
        option.help = f"{option.help} One of: {shown.strip('<>').replace('|', ', ')}."
        option.metavar = TEXT
    else:
        option.metavar = NAMES.get(shown)
