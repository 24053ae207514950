"""Tables of results in Markdown."""

from collections.abc import Iterator, Sequence
from typing import Any

ResultsJson = dict[str, Any]
"""The parsed JSON of one benchmark."""


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return [f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines]


def report_table(found: ResultsJson) -> Iterator[str]:
    """Measurements beside their targets."""
    outcome = {True: "met", False: "**missed**", None: ""}
    rows = [
        [line["what"], line["measured"], line["target"], outcome[line["met"]]] for line in found["report"]
    ]
    yield from markdown_table(["what", "measured", "target", ""], rows)


def optional_share(value: float | None) -> str:
    """As a percentage."""
    return f"{value:.1%}" if value is not None else "–"


def optional_number(value: float | None) -> str:
    """With three digits."""
    return f"{value:.3f}" if value is not None else "–"


def calibration_cells(measured: ResultsJson) -> tuple[str, str]:
    """The calibration errors of a set, balanced and as asked; dashes for results without them."""
    errors = measured.get("calibration") or {}
    return optional_number(errors.get("balanced")), optional_number(errors.get("as_asked"))
