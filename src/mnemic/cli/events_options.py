"""Options that the commands for events and webhooks share: which types, and where to start."""

import re
from datetime import UTC, datetime
from typing import Annotated

import typer

from mnemic.events.consumers import Start, check_start
from mnemic.types.event import EVENT_TYPES

POSITION = re.compile(r"[0-9]{1,19}")

# Typer knows no lists of choices: these are checked by the call itself, which lists what is allowed.
Types = Annotated[
    list[str] | None,
    typer.Option("--type", help=f"Only events of this type; may be repeated: {', '.join(EVENT_TYPES)}."),
]
Limit = Annotated[int, typer.Option("--limit", help="Maximum number to list.")]


def as_start(given: str) -> Start:
    """The start position that was given to `--from`."""
    return check_start("--from", int(given) if POSITION.fullmatch(given) else given)


def shown_types(types: tuple[str, ...] | None) -> str:
    """Event types for a table."""
    return ", ".join(types) if types is not None else "all"


def shown_moment(moment: datetime) -> str:
    """A time to the second, in UTC, for a table."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
