"""What all benchmarks report alike: what was measured beside what it should be, and on what machine."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from rich.markup import escape
from rich.table import Table


@dataclass(frozen=True)
class Line:
    """One line of the report; `met` is None where there is no target."""

    what: str
    measured: str
    target: str = ""
    met: bool | None = None


def table_of(title: str, *columns: str) -> Table:
    """An empty table."""
    table = Table(title=title)
    for column in columns:
        table.add_column(column)
    return table


def report_table(title: str, lines: Sequence[Line]) -> Table:
    """What was measured beside its targets."""
    table = table_of(title, "what", "measured", "target", "")
    for line in lines:
        outcome = {True: "met", False: "missed", None: ""}[line.met]
        table.add_row(line.what, escape(line.measured), line.target, outcome)
    return table


def as_json(measured: Mapping[str, object], lines: Sequence[Line]) -> str:
    """What was measured, when, on what, and how it was judged."""
    about = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
    }
    whole = {**about, **measured, "report": [asdict(line) for line in lines]}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
