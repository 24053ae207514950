"""HaluMem with a language model that extracts the statements, through the public API.

    python -m bench.mind_llm DATA --llm provider:model [--max-usd 2] [--sessions 3] [--users 1]

It is the harness of `bench.mind_halumem`, with `extractor="llm"`. `--max-usd` is a spend cap: the run stops
when the next call might exceed it. Prints a table with the targets, and what the calls cost; the exit code is
1 when a target is missed.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from rich.console import Console

from bench.datasets import MissingDataError
from bench.mind_halumem import HaluMemResult, HaluMemUser, measure_halumem, read_halumem
from bench.report import ReportLine, as_json, report_table
from mnemic import AsyncMemory
from mnemic.config import load_settings
from mnemic.errors import SpendCapError
from mnemic.models.embedding import EmbedderSpec
from mnemic.models.language import LanguageModelSpec
from mnemic.types.spend import SpendLine

PLANTED_TARGET = 0.05
"""Share of planted false memories that may be stored, with a model."""
TURNS_PER_CALL_TARGET = 19
"""Calls hold 20 turns; only the last one of each user holds fewer."""


@dataclass(frozen=True)
class LanguageRun:
    """What was measured, and the calls of the model."""

    halumem: HaluMemResult
    calls: tuple[SpendLine, ...]

    @property
    def call_count(self) -> int:
        """Calls that the model answered."""
        return sum(line.call_count - line.failed_count for line in self.calls)


def main() -> int:
    """Measure, print and write the results."""
    options = _options()
    console = Console()
    try:
        users = read_halumem(options.data, sessions_max=options.sessions)
        run = asyncio.run(_measure(options, islice(users, options.users)))
    except (MissingDataError, SpendCapError) as error:
        print(error, file=sys.stderr)
        return 2
    lines = report_lines(run)
    console.print(report_table(f"HaluMem with {options.llm}", lines))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(as_json(asdict(run.halumem), lines), "utf-8")
    return int(any(line.met is False for line in lines))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure statements that a language model extracts.")
    parser.add_argument("data", type=Path, help="folder with the file of HaluMem")
    parser.add_argument("--llm", required=True, help="the model, as provider:model")
    parser.add_argument("--max-usd", metavar="DOLLARS", help="the most that the calls may cost")
    parser.add_argument("--timeout-s", type=float, default=120.0, help="longest wait for one answer")
    parser.add_argument("--sessions", type=int, help="only the first sessions of each user")
    parser.add_argument("--users", type=int, help="only the first users")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results to this file")
    return parser.parse_args()


async def _measure(options: argparse.Namespace, users: Iterable[HaluMemUser]) -> LanguageRun:
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        return await measure(
            Path(folder) / "data",
            options.llm,
            users,
            max_usd=options.max_usd,
            timeout_s=options.timeout_s,
        )


async def measure(
    data_dir: Path,
    llm: LanguageModelSpec,
    users: Iterable[HaluMemUser],
    *,
    max_usd: str | None = None,
    timeout_s: float = 120.0,
    embedder: EmbedderSpec | None = None,
) -> LanguageRun:
    """Run HaluMem with a model of pydantic-ai."""
    settings = load_settings(extractor="llm", extraction_timeout_s=timeout_s, worker=False)
    async with AsyncMemory(data_dir=data_dir, llm=llm, settings=settings, embedder=embedder) as memory:
        if max_usd is not None:
            await memory.spend.set_cap(max_usd, period="total")
        halumem = await measure_halumem(memory, users)
        return LanguageRun(halumem, tuple(await memory.spend.summary()))


def report_lines(run: LanguageRun) -> list[ReportLine]:
    """Measurements beside their targets."""
    result = run.halumem
    planted = result.planted_stored / max(result.planted_count, 1)
    turns = result.turn_count / max(run.call_count, 1)
    gold = max(result.gold_count, 1)
    return [
        ReportLine(
            "planted false memories stored",
            f"{planted:.1%} of {result.planted_count}",
            f"≤ {PLANTED_TARGET:.0%}",
            planted <= PLANTED_TARGET,
        ),
        ReportLine("gold memories covered by statements", f"{result.gold_covered / gold:.2f} of {gold}"),
        ReportLine("gold memories covered by the user's turns", f"{result.gold_in_turns / gold:.2f}"),
        ReportLine("gold memories covered by either", f"{result.gold_in_either / gold:.2f}"),
        ReportLine("statements", f"{result.statement_count:,}"),
        ReportLine("statements that cover a gold memory", f"{result.useful_count:,}"),
        ReportLine(
            "stored again by a second run",
            f"{result.stored_again_count:,}",
            "0",
            result.stored_again_count == 0,
        ),
        ReportLine(
            "turns per call",
            f"{turns:.1f} ({result.turn_count:,} turns, {run.call_count:,} calls)",
            f"≥ {TURNS_PER_CALL_TARGET}",
            turns >= TURNS_PER_CALL_TARGET,
        ),
        ReportLine("calls that failed", f"{sum(line.failed_count for line in run.calls):,}"),
        ReportLine(
            "tokens read and written",
            f"{sum(line.input_tokens for line in run.calls):,}"
            f" and {sum(line.output_tokens for line in run.calls):,}",
        ),
        ReportLine("cost in dollars, where known", f"{sum(line.usd for line in run.calls):.4f}"),
    ]


if __name__ == "__main__":
    sys.exit(main())
