"""Replays recorded sessions through the pager, beside other ways to keep a prompt short.

    python -m bench.context.run DATA [--json bench/results/context.json] [--plot docs/plots/context-costs.svg]

DATA holds `transcripts_*.jsonl.xz`. Every policy runs over the same sessions in one run: whole, and split at
the compactions of the client. The halves of the sessions are also measured alone. The exit code is 1 when a
target is missed.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.context.paging import Paging
from bench.context.policies import Clearing, Compaction, Full, Masking, Policy, Sliding
from bench.context.replay import Measured, NamesCache, Replay
from bench.context.summary import TARGETS, Summary, missed_targets, summarise
from bench.context.transcripts import Session, read_sessions
from bench.plots import Bar, Bars

PROCESSES = 2
MODES = {"whole": False, "segments": True}


def main() -> int:
    """Measure, print and write the results."""
    options = _options()
    files = sorted(options.data.glob("transcripts_*.jsonl.xz"))
    if not files:
        print(
            f"No transcripts_*.jsonl.xz in {options.data}. Name another folder: DATA=folder.", file=sys.stderr
        )
        return 2
    results = {mode: _measure(files, is_split=is_split) for mode, is_split in MODES.items()}
    for mode, summaries in results.items():
        _show(mode, summaries)
    if options.json:
        written = {mode: [asdict(each) for each in summaries] for mode, summaries in results.items()}
        options.json.write_text(json.dumps(written | {"targets": TARGETS}, indent=2) + "\n", "utf-8")
    if options.plot:
        options.plot.write_text(_plot(results["whole"]), "utf-8")
    missed = missed_targets(results["whole"], results["segments"])
    print("\n".join(missed) or "All targets are met.")
    return int(bool(missed))


def replay_all(session: Session) -> list[Measured]:
    """One session under every policy."""
    names = NamesCache()
    makers: Sequence[Callable[[], Policy]] = (
        *(Full, Sliding, Clearing, Masking, Compaction),
        partial(Paging, session),
    )
    return [Replay(session, make(), names).run() for make in makers]


def _measure(files: Sequence[Path], *, is_split: bool) -> list[Summary]:
    sessions = [session for file in files for session in read_sessions(file, is_split=is_split)]
    with ProcessPoolExecutor(PROCESSES) as pool:
        rows = list(pool.map(replay_all, sessions))
    halves = {"first half": rows[::2], "second half": rows[1::2]}
    return summarise(rows) + [
        each for name, half in halves.items() for each in summarise(half, name) if each.policy == Paging.name
    ]


def _show(mode: str, summaries: Sequence[Summary]) -> None:
    table = Table(title=f"{mode}: {summaries[0].sessions} sessions, {summaries[0].calls} calls")
    columns = ("tokens", "cost", "cache hits", "names missed", "untraced", "edits missed", "faults / 100")
    for name in ("policy", *columns, "dearest session", "p95 ms"):
        table.add_column(name)
    for each in summaries:
        shares = (each.tokens, each.cost, each.cache_hits, each.names_missed)
        table.add_row(
            f"{each.policy} {each.part}".strip(),
            *(f"{share:.2%}" for share in shares),
            str(each.names_untraced),
            f"{each.edits_missed:.2%}",
            f"{each.faults_per_100_calls:.2f}",
            f"{each.dearest_session:.1%}",
            f"{each.decision_p95_ms:.2f}",
        )
    Console(width=160).print(table)


def _plot(summaries: Sequence[Summary]) -> str:
    whole = [each for each in summaries if not each.part]
    groups = {
        "tokens": [Bar(each.policy, each.tokens) for each in whole],
        "cost": [Bar(each.policy, each.cost) for each in whole],
    }
    most = max(bar.value for bars in groups.values() for bar in bars) * 1.1
    return Bars("Tokens and cost, as a share of full context", groups, most).svg()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Replay recorded sessions through the pager.")
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
