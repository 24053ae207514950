"""Targets for facts that change and for statements, and tables of the results."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.table import Table

from bench.mind_conflicts import ConflictResult
from bench.mind_unrelated import UnrelatedResult
from bench.report import ReportLine, report_table, table_of

CURRENT_FIRST_TARGETS = {"sh_6k": 0.95, "sh_32k": 0.92}
STALE_TARGET = 0.01


@dataclass
class MindResults:
    """What was measured so far."""

    conflicts: list[ConflictResult] = field(default_factory=list)
    unrelated: UnrelatedResult | None = None

    def measured(self) -> dict[str, object]:
        """The results for JSON."""
        return asdict(self)


def report_lines(results: MindResults) -> list[ReportLine]:
    """Measurements beside their targets."""
    lines = [line for each in results.conflicts for line in _conflict_lines(each)]
    lines += _unrelated_lines(results.unrelated) if results.unrelated is not None else ()
    return lines


def _conflict_lines(result: ConflictResult) -> Iterator[ReportLine]:
    name = f"conflicts {result.name}"
    least = CURRENT_FIRST_TARGETS.get(result.name)
    if least is None:
        yield ReportLine(f"{name}, current value first", f"{result.first:.3f}")
    else:
        met = result.first >= least
        yield ReportLine(f"{name}, current value first", f"{result.first:.3f}", f"≥ {least}", met)
        met = result.stale <= STALE_TARGET
        yield ReportLine(
            f"{name}, stale in the first five", f"{result.stale:.1%}", f"≤ {STALE_TARGET:.0%}", met
        )
    again = result.stored_again_count
    yield ReportLine(f"{name}, stored again by a second run", f"{again:,}", "0", again == 0)


def _unrelated_lines(result: UnrelatedResult) -> Iterator[ReportLine]:
    count, of = len(result.superseded), f"of {result.pair_count:,}"
    yield ReportLine("unrelated facts superseded, hard pairs", f"{count:,} {of}", "0", count == 0)
    yield ReportLine("unrelated facts with a weak mark, hard pairs", f"{len(result.weak):,} {of}")
    again = result.stored_again_count
    yield ReportLine("hard pairs, stored again by a second run", f"{again:,}", "0", again == 0)


def show(console: Console, results: MindResults, lines: Sequence[ReportLine]) -> None:
    """Print the tables of each part, and the targets."""
    if results.conflicts:
        console.print(_conflicts_table(results.conflicts))
    console.print(report_table("Facts that change, and statements", lines))


def _conflicts_table(conflicts: Sequence[ConflictResult]) -> Table:
    columns = (
        "set",
        "facts",
        "questions",
        "first",
        "@5",
        "@10",
        "stale @5",
        "at once: first",
        "stale @5",
        "outdated",
    )
    table = table_of("Conflicts", *columns)
    for each in conflicts:
        shares = (
            each.first,
            each.among_five,
            each.among_ten,
            each.stale,
            each.first_at_once,
            each.stale_at_once,
        )
        table.add_row(
            each.name,
            f"{each.fact_count:,}",
            f"{each.question_count:,}",
            *(f"{share:.3f}" for share in shares),
            f"{each.outdated_count:,}",
        )
    return table
