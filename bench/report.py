"""The report format of all benchmarks: measurements beside their targets, and the machine."""

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
"""Position of the stolen time after the name of the line; see proc_stat(5)."""


@dataclass(frozen=True)
class ReportLine:
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


def report_table(title: str, lines: Sequence[ReportLine]) -> Table:
    """Measurements beside their targets."""
    table = table_of(title, "what", "measured", "target", "")
    for line in lines:
        outcome = {True: "met", False: "missed", None: ""}[line.met]
        table.add_row(line.what, escape(line.measured), line.target, outcome)
    return table


def _cpu_times() -> list[int]:
    """CPU times of all cores since boot, by kind; empty where /proc/stat is missing."""
    if not CPU_TIMES.exists():
        return []
    # Guest time, which follows the stolen time, is part of the user time.
    return [int(time) for time in CPU_TIMES.read_text().split(maxsplit=STOLEN + 2)[1 : STOLEN + 2]]


_TIMES_AT_FIRST = _cpu_times()


def stolen_share() -> float | None:
    """The share of CPU time that the hypervisor gave to other machines since the benchmark started.

    Above a few hundredths, the measured times are unreliable.
    """
    spent = [now - first for now, first in zip(_cpu_times(), _TIMES_AT_FIRST, strict=True)]
    return round(spent[STOLEN] / sum(spent), 3) if sum(spent) else None


def as_json(measured: Mapping[str, object], lines: Sequence[ReportLine]) -> str:
    """Results with time, machine and report."""
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
