"""Shared by the commands that erase: the check for a confirmation and the receipt."""

from collections.abc import Mapping

from mnemic.cli.output import out, table
from mnemic.errors import InvalidInputError


def check_can_ask(*, json: bool) -> None:
    """Refuse to ask for a confirmation where only JSON may be printed."""
    if json:
        raise InvalidInputError("--json does not ask for a confirmation: add --yes.")


def print_row_counts(rows: Mapping[str, int]) -> None:
    """A table of the erased rows per table; tables without any are left out."""
    listing = table("table", "rows")
    for name, count in rows.items():
        if count:
            listing.add_row(name, f"{count:,}")
    out.print(listing)
