"""Errors of single options, in the words of the command line.

Typer checks numbers and choices with pydantic and prints what pydantic says to programmers.
"""

import re
from typing import Any

import typer
from typer.core import TyperGroup

REWORDED = (
    (re.compile(r"\AInput should be a valid integer.*", re.DOTALL), "it must be a whole number."),
    (re.compile(r"\AInput should be a valid number.*", re.DOTALL), "it must be a number."),
    (re.compile(r"\AInput should be greater than or equal to (\S+)\Z"), r"it must be at least \1."),
    (re.compile(r"\AInput should be less than or equal to (\S+)\Z"), r"it must be at most \1."),
    (re.compile(r"\AValue error, "), ""),
)


class Commands(TyperGroup):
    """The group of all commands, whose usage errors name no types of Python."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; reword the error of an option that it does not accept."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            for pattern, plain in REWORDED:
                error.message = pattern.sub(plain, error.message)
            raise
