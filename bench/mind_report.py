"""Targets for facts that change and for statements, and tables of the results."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.table import Table

from bench.mind_conflicts import ConflictResult
from bench.mind_halumem import HaluMemResult
from bench.mind_idle import IdleResult
from bench.mind_relations import SEEN_CHANGED, RelationResult
from bench.mind_undo import UndoResult
from bench.mind_unrelated import UnrelatedResult
from bench.report import ReportLine, report_table, table_of
from bench.stores_metrics import KindResult
from bench.stores_report import HIT_TARGETS, MNEMIC

CURRENT_FIRST_TARGETS = {"sh_6k": 0.95, "sh_32k": 0.92}
STALE_TARGET = 0.01
UPDATE_TARGET = HIT_TARGETS["small", "update"][1]
PLANTED_TARGET = 0.03
IDLE_TARGET = 0.002
RULES_TARGET = 2_000


@dataclass
class MindResults:
    """What was measured so far."""

    conflicts: list[ConflictResult] = field(default_factory=list)
    small: KindResult | None = None
    halumem: HaluMemResult | None = None
    unrelated: UnrelatedResult | None = None
    relations: RelationResult | None = None
    undo: UndoResult | None = None
    idle: IdleResult | None = None

    def measured(self) -> dict[str, object]:
        """The results for JSON."""
        return asdict(self)


def report_lines(results: MindResults) -> list[ReportLine]:
    """Measurements beside their targets."""
    lines = [line for each in results.conflicts for line in _conflict_lines(each)]
    lines += _small_lines(results.small) if results.small is not None else ()
    lines += _halumem_lines(results.halumem) if results.halumem is not None else ()
    lines += _unrelated_lines(results.unrelated) if results.unrelated is not None else ()
    lines += _relation_lines(results.relations) if results.relations is not None else ()
    lines += _undo_lines(results.undo) if results.undo is not None else ()
    lines += _idle_lines(results.idle) if results.idle is not None else ()
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


def _small_lines(result: KindResult) -> Iterator[ReportLine]:
    first = result.hits[MNEMIC][0]
    what = f"small stores, update, newest first, {result.question_count} questions"
    yield ReportLine(what, f"{first:.3f}", f"≥ {UPDATE_TARGET:.2f}", first >= UPDATE_TARGET)


def _halumem_lines(result: HaluMemResult) -> Iterator[ReportLine]:
    stored = result.planted_stored / result.planted_count
    of = f"of {result.planted_count}"
    target = f"≤ {PLANTED_TARGET:.0%}"
    what = "HaluMem, planted false memories stored"
    yield ReportLine(what, f"{stored:.1%} {of}", target, stored <= PLANTED_TARGET)
    quoted = result.planted_in_summaries / result.planted_count
    what = "HaluMem, planted false memories in sentences of summaries"
    yield ReportLine(what, f"{quoted:.1%} {of}", target, quoted <= PLANTED_TARGET)
    in_turns = result.planted_in_turns / result.planted_count
    yield ReportLine("HaluMem, planted false memories in the user's turns", f"{in_turns:.1%} {of}")
    gold = {
        "statements": result.gold_covered,
        "sentences of summaries": result.gold_in_summaries,
        "the user's turns": result.gold_in_turns,
        "statements or turns": result.gold_in_either,
    }
    for name, count in gold.items():
        share, of = count / result.gold_count, f"of {result.gold_count}"
        yield ReportLine(f"HaluMem, gold memories covered by {name}", f"{share:.1%} {of}")
    if result.statement_count:
        useful, of = result.useful_count / result.statement_count, f"of {result.statement_count:,}"
        yield ReportLine("HaluMem, statements that cover a gold memory", f"{useful:.1%} {of}")
    again = result.stored_again_count
    yield ReportLine("HaluMem, stored again by a second run", f"{again:,}", "0", again == 0)
    if result.rules_s:
        speed = result.turn_count / result.rules_s
        what = "HaluMem, turns per second of CPU time, rules alone"
        target = f"≥ {RULES_TARGET:,}"
        yield ReportLine(what, f"{speed:,.0f}", target, speed >= RULES_TARGET)
    if result.python_s:
        speed = result.turn_count / result.python_s
        yield ReportLine("HaluMem, turns consolidated per second of CPU time in Python", f"{speed:,.0f}")


def _unrelated_lines(result: UnrelatedResult) -> Iterator[ReportLine]:
    count, of = len(result.superseded), f"of {result.pair_count:,}"
    yield ReportLine("unrelated facts superseded, hard pairs", f"{count:,} {of}", "0", count == 0)
    yield ReportLine("unrelated facts with a weak mark, hard pairs", f"{len(result.weak):,} {of}")
    again = result.stored_again_count
    yield ReportLine("hard pairs, stored again by a second run", f"{again:,}", "0", again == 0)


def _relation_lines(result: RelationResult) -> Iterator[ReportLine]:
    found = result.changed_count - len(result.missed)
    what = "statements of other relations, changed value found"
    yield ReportLine(what, f"{found} of {result.changed_count}")
    unseen = result.changed_count - SEEN_CHANGED
    what = "the same, pairs that were not in view when the rules were written"
    yield ReportLine(what, f"{unseen - result.unseen_missed_count} of {unseen}")
    count, of = len(result.superseded), f"of {result.both_hold_count}"
    yield ReportLine(
        "statements of other relations that both hold, superseded", f"{count} {of}", "0", count == 0
    )


def _undo_lines(result: UndoResult) -> Iterator[ReportLine]:
    for what, seconds in (("applied", result.apply_s), ("undone", result.undo_s)):
        each_ms = 1_000 * seconds / max(result.change_count, 1)
        yield ReportLine(f"changeset of {result.change_count:,} changes {what}", f"{each_ms:.2f} ms a change")
    changed, of = result.changed_answer_count, f"of {result.question_count}"
    yield ReportLine("answers that differ after undoing it", f"{changed} {of}", "0", changed == 0)


def _idle_lines(result: IdleResult) -> Iterator[ReportLine]:
    for each in result.recalls:
        for when, recall in (("", each.after), (", asked as of the later day", each.asked_later)):
            lost = each.before - recall
            what = f"{each.dataset}, R@10 lost in {result.days} idle days{when}"
            measured = f"{lost:+.4f} of {each.before:.3f}"
            yield ReportLine(what, measured, f"≤ {IDLE_TARGET}", lost <= IDLE_TARGET)
    gone = result.lost_count
    what = f"memories archived, changed or deleted in {result.days} idle days, {result.job_run_count:,} jobs"
    yield ReportLine(what, f"{gone:,} of {result.active_count:,}", "0", gone == 0)
    unread = result.lost_turn_count
    what = f"turns that cannot be read any more after {result.days} idle days"
    yield ReportLine(what, f"{unread:,} of {result.turn_count:,}", "0", unread == 0)


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
