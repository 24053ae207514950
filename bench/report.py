"""What all benchmarks report alike: what was measured beside what it should be, and on what machine."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.markup import escape
from rich.table import Table

CPU_TIMES = Path("/proc/stat")
STOLEN = 7
"""The place of the time that the host gave to others, behind the name of the line; see proc_stat(5)."""


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


def _cpu_times() -> list[int]:
    """How long all cores have been busy since the machine began, and with what; empty where nobody knows."""
    if not CPU_TIMES.exists():
        return []
    # Guests' time, which follows the stolen one, is contained in that of users.
    return [int(time) for time in CPU_TIMES.read_text().split(maxsplit=STOLEN + 2)[1 : STOLEN + 2]]


_TIMES_AT_FIRST = _cpu_times()


def stolen_share() -> float | None:
    """The share of the cores' time that a virtual machine did not get since the benchmark began.

    Where it is more than a few hundredths, times say more about the neighbours than about Mnemic.
    """
    spent = [now - first for now, first in zip(_cpu_times(), _TIMES_AT_FIRST, strict=True)]
    return round(spent[STOLEN] / sum(spent), 3) if sum(spent) else None


def as_json(measured: Mapping[str, object], lines: Sequence[Line]) -> str:
    """What was measured, when, on what, and how it was judged."""
    about = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "stolen_share": stolen_share(),
        },
    }
    whole = {**about, **measured, "report": [asdict(line) for line in lines]}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
