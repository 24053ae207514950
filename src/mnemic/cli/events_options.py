"""What the commands about events and those about webhooks have in common: which events, from where on."""

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
    typer.Option("--type", help=f"Only of this type; may be repeated: {', '.join(EVENT_TYPES)}."),
]
Limit = Annotated[int, typer.Option("--limit", help="How many at most.")]


def as_start(given: str) -> Start:
    """Where to begin in the log, as it was given to `--from`."""
    return check_start("--from", int(given) if POSITION.fullmatch(given) else given)


def shown_types(types: tuple[str, ...] | None) -> str:
    """Which types somebody gets, for people."""
    return ", ".join(types) if types is not None else "all"


def shown_moment(moment: datetime) -> str:
    """A moment to the second, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
