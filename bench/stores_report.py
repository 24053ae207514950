"""Targets for recall in the stores that people build, and tables of the results."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table

from bench.calibration import calibration_lines
from bench.report import ReportLine, report_table, table_of
from bench.stores_data import FOREIGN
from bench.stores_metrics import EVERYTHING, RANKS, KindResult, StoreSetResult

MNEMIC = "Mnemic"

HIT_TARGETS: dict[tuple[str, str], dict[int, float]] = {
    ("small", EVERYTHING): {1: 0.65, 5: 0.84},
    ("small", "update"): {1: 0.70},
    ("small", "time"): {1: 0.80},
    ("small", "overview"): {10: 0.50},
    ("small", "join"): {10: 0.80},
    ("facts", "facts"): {1: 0.60},
    ("docs", "docs en"): {1: 0.93},
    ("mixed", "about people"): {1: 0.52},
    ("mixed", "about documents"): {1: 0.91},
}
"""hit@k by set and kind of question."""

LEAD_TARGETS = {("mixed", "about people"): 0.03, ("mixed", "about documents"): 0.03}
"""By how much hit@1 must be above the better of the two baselines."""

TYPOS_LOSS_TARGET = 0.08
"""How much hit@1 may be lower with typing errors than without, in the same run."""
TYPOS_OF = {"typos facts": "facts", "typos docs": "docs"}

ANSWERABLE_REFUSED_TARGET = 0.04
FOREIGN_REFUSED_TARGETS = {"small": 0.50}
STRICT_FOREIGN_REFUSED_TARGETS = {"small": 0.90}


def report_lines(results: Sequence[StoreSetResult]) -> list[ReportLine]:
    """Measurements beside their targets."""
    by_name = {each.name: each for each in results}
    return [line for each in results for line in _lines(each, by_name)]


def _lines(result: StoreSetResult, others: dict[str, StoreSetResult]) -> Iterator[ReportLine]:
    for kind in result.kinds:
        yield from _hit_lines(result.name, kind)
        yield from _refusal_lines(result.name, kind)
    if (plain := others.get(TYPOS_OF.get(result.name, ""))) is not None:
        loss = _first_hits(plain) - _first_hits(result)
        what = f"{result.name}, hit@1 lost by the typing errors"
        yield ReportLine(what, f"{loss:.3f}", f"≤ {TYPOS_LOSS_TARGET}", loss <= TYPOS_LOSS_TARGET)
    yield from calibration_lines(result.name, result.calibration)


def _first_hits(result: StoreSetResult) -> float:
    everything = result.of(EVERYTHING)
    assert everything is not None, "every set has answerable questions"
    return everything.hits[MNEMIC][0]


def _hit_lines(name: str, kind: KindResult) -> Iterator[ReportLine]:
    for k, target in HIT_TARGETS.get((name, kind.kind), {}).items():
        value = kind.hits[MNEMIC][RANKS.index(k)]
        what = f"{name}, {kind.kind}, hit@{k}, {kind.question_count:,} questions"
        yield ReportLine(what, f"{value:.3f}", f"≥ {target:.2f}", value >= target)
    if (lead := LEAD_TARGETS.get((name, kind.kind))) is not None:
        best = max(hits[0] for ranking, hits in kind.hits.items() if ranking != MNEMIC)
        above = kind.hits[MNEMIC][0] - best
        what = f"{name}, {kind.kind}, hit@1 above the better baseline"
        yield ReportLine(what, f"{above:+.3f}", f"≥ {lead:+.2f}", above >= lead)


def _refusal_lines(name: str, kind: KindResult) -> Iterator[ReportLine]:
    of = f"of {kind.question_count:,}"
    if kind.kind == EVERYTHING:
        is_met = kind.refused <= ANSWERABLE_REFUSED_TARGET
        target = f"≤ {ANSWERABLE_REFUSED_TARGET:.0%}"
        yield ReportLine(f"{name}, answerable refused", f"{kind.refused:.1%} {of}", target, is_met)
    if kind.kind == FOREIGN and name in FOREIGN_REFUSED_TARGETS:
        least = FOREIGN_REFUSED_TARGETS[name]
        measured = f"{kind.refused:.1%} {of}"
        yield ReportLine(f"{name}, foreign refused", measured, f"≥ {least:.0%}", kind.refused >= least)
    if kind.kind == FOREIGN and kind.strict_refused is not None and name in STRICT_FOREIGN_REFUSED_TARGETS:
        least = STRICT_FOREIGN_REFUSED_TARGETS[name]
        what, measured = f"{name}, foreign refused in strict mode", f"{kind.strict_refused:.1%} {of}"
        yield ReportLine(what, measured, f"≥ {least:.0%}", kind.strict_refused >= least)


def show(console: Console, results: Sequence[StoreSetResult], lines: Sequence[ReportLine]) -> None:
    """Print the tables: hits and refusals of each set by kind, and the targets."""
    for result in results:
        console.print(_hits_table(result))
        console.print(_refusal_table(result))
    console.print(report_table("Recall in the stores that people build", lines))


def _hits_table(result: StoreSetResult) -> Table:
    rankings = list(result.kinds[0].hits)
    ranks = "/".join(map(str, RANKS))
    title = f"{result.name}: {result.owner_count} owners, {result.memory_count:,} memories; hit@{ranks}"
    table = table_of(title, "kind", "questions", *rankings)
    for kind in result.kinds:
        if kind.hits:
            hits = (" ".join(f"{value:.3f}" for value in kind.hits[each]) for each in rankings)
            table.add_row(kind.kind, f"{kind.question_count:,}", *hits)
    return table


def _refusal_table(result: StoreSetResult) -> Table:
    title = (
        f"{result.name}: refused; calibration error {result.calibration.balanced:.3f}, "
        f"as asked {result.calibration.as_asked:.3f}; "
        f"p50/p95 {result.recall_p50_ms:.1f}/{result.recall_p95_ms:.1f} ms"
    )
    table = table_of(title, "kind", "questions", "refused", "weak", "found", "refused, strict")
    for kind in result.kinds:
        outcomes = kind.outcomes or {}
        shares = (kind.refused, outcomes.get("weak"), outcomes.get("found"), kind.strict_refused)
        table.add_row(kind.kind, f"{kind.question_count:,}", *map(_share, shares))
    return table


def _share(value: float | None) -> str:
    return f"{value:.1%}" if value is not None else "–"
