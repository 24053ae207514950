"""Targets for the quality of recall, and tables of the results."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from bench.calibration import calibration_lines
from bench.quality_metrics import EVERYTHING, Averages
from bench.refusal import Refusal
from bench.report import ReportLine, report_table, table_of

MNEMIC = "Mnemic"

TARGETS: dict[str, dict[str, float]] = {
    "LoCoMo": {"R@5": 0.72, "R@10": 0.825, "R@25": 0.89, "R@50": 0.93},
    "LongMemEval_S": {"any@5": 0.98, "all@5": 0.96},
    "BEAM": {"R@10": 0.63},
}
# LongMemEval has one question per owner, about everyday things that its other chats also mention: shown
# without a target.
REFUSAL_SETS = frozenset({"LoCoMo", "BEAM"})
AREA_TARGET = 0.98
FOREIGN_REFUSED_TARGET = 0.85
OWN_REFUSED_TARGET = 0.03


@dataclass(frozen=True)
class Quality:
    """Results of one dataset; `rankings` holds Mnemic's and those of the baselines."""

    dataset: str
    owner_count: int
    memory_count: int
    rankings: dict[str, list[Averages]]
    recall_p50_ms: float
    recall_p95_ms: float
    refusal: Refusal | None


def report_lines(qualities: Sequence[Quality]) -> list[ReportLine]:
    """Measurements beside their targets."""
    return [line for quality in qualities for line in (*_recall_lines(quality), *_refusal_lines(quality))]


def _recall_lines(quality: Quality) -> Iterator[ReportLine]:
    everything = overall(quality.rankings[MNEMIC])
    for label, target in TARGETS.get(quality.dataset, {}).items():
        value = everything.values[label]
        what = f"{quality.dataset}, {label}, {everything.question_count:,} questions"
        yield ReportLine(what, f"{value:.4f}", f"≥ {target}", value >= target)


def _refusal_lines(quality: Quality) -> Iterator[ReportLine]:
    found = quality.refusal
    if found is None:
        return
    yield from calibration_lines(found.dataset, found.calibration)
    if quality.dataset not in REFUSAL_SETS:
        return
    yield ReportLine(
        f"{found.dataset}, own against foreign questions, area under the ROC curve",
        f"{found.area:.4f}",
        f"≥ {AREA_TARGET}",
        found.area >= AREA_TARGET,
    )
    yield ReportLine(
        f"{found.dataset}, foreign questions refused",
        f"{found.foreign_refused:.2%} of {found.foreign_count:,}",
        f"≥ {FOREIGN_REFUSED_TARGET:.0%}",
        found.foreign_refused >= FOREIGN_REFUSED_TARGET,
    )
    yield ReportLine(
        f"{found.dataset}, own questions refused",
        f"{found.own_refused:.2%} of {found.own_count:,}",
        f"≤ {OWN_REFUSED_TARGET:.0%}",
        found.own_refused <= OWN_REFUSED_TARGET,
    )


def overall(listed: Sequence[Averages]) -> Averages:
    """The averages over all categories."""
    return next(each for each in listed if each.category == EVERYTHING)


def show(console: Console, qualities: Sequence[Quality], lines: Sequence[ReportLine]) -> None:
    """Print the tables: rankings and categories of each dataset, refusal, and the targets."""
    for quality in qualities:
        console.print(_rankings_table(quality))
        console.print(_categories_table(quality))
    console.print(_refusal_table([each.refusal for each in qualities if each.refusal is not None]))
    console.print(report_table("Recall", lines))


def _rankings_table(quality: Quality) -> Table:
    title = f"{quality.dataset}: {quality.owner_count} owners, {quality.memory_count:,} memories"
    labels = list(overall(quality.rankings[MNEMIC]).values)
    table = table_of(title, "ranking", *labels)
    for name, listed in quality.rankings.items():
        table.add_row(name, *(_share(overall(listed).values[label]) for label in labels))
    return table


def _categories_table(quality: Quality) -> Table:
    listed = quality.rankings[MNEMIC]
    labels = list(overall(listed).values)
    table = table_of(f"{quality.dataset}, by category", "category", "questions", *labels)
    for each in listed:
        table.add_row(
            each.category, f"{each.question_count:,}", *(_share(each.values[label]) for label in labels)
        )
    return table


def _refusal_table(refusals: Sequence[Refusal]) -> Table:
    table = table_of(
        "Refusal (area under the ROC curve; share refused by default)",
        *("dataset", "area", "own refused", "foreign refused", "near: area", "near refused"),
        *("calibration error", "as asked", "shared evidence", "without it: area", "foreign refused"),
    )
    for each in refusals:
        table.add_row(
            each.dataset,
            _share(each.area),
            f"{each.own_refused:.1%} of {each.own_count:,}",
            f"{each.foreign_refused:.1%} of {each.foreign_count:,}",
            _share(each.unanswerable_area),
            f"{_share(each.unanswerable_refused)} of {each.unanswerable_count}",
            _share(each.calibration.balanced),
            _share(each.calibration.as_asked),
            f"{each.shared_evidence_count:,}",
            _share(each.area_without_shared),
            _share(each.foreign_refused_without_shared),
        )
    return table


def _share(value: float | None) -> str:
    return f"{value:.3f}" if value is not None else "–"
