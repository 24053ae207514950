"""HaluMem with a language model that extracts the statements, through the public API.

    python -m bench.mind_llm DATA --llm provider:model [--max-usd 2] [--sessions 3] [--users 1]

It is the harness of `bench.mind_halumem`, with `extractor="llm"`, beside the rules on the same turns.
`--sessions` takes the first sessions of each user that name memories to find. `--max-usd` is a spend cap: the
run stops when the next call might exceed it. Prints a table with the targets, and what the calls cost; the
exit code is 1 when a target is missed.

A server on this machine that speaks the protocol of OpenAI is a model, too:

    export OPENAI_BASE_URL=http://127.0.0.1:8080/v1 OPENAI_API_KEY=none
    python -m bench.mind_llm DATA --llm openai-chat:name --timeout-s 900
"""

import argparse
import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from rich.console import Console

from bench.datasets import MissingDataError
from bench.mind_halumem import PAGE, HaluMemResult, HaluMemUser, measure_halumem, read_halumem
from bench.report import ReportLine, as_json, report_table
from mnemic import AsyncMemory
from mnemic.config import load_settings
from mnemic.db.embedded import EmbeddedServer
from mnemic.errors import SpendCapError
from mnemic.extraction.checking import folded
from mnemic.extraction.rules import RULES_NAME
from mnemic.models.embedding import EmbedderSpec
from mnemic.models.language import LanguageModelSpec
from mnemic.types.spend import SpendLine
from mnemic.types.statement import Statement

PLANTED_TARGET = 0.05
"""Share of planted false memories that may be stored, with a model."""
TURNS_PER_CALL_TARGET = 19
"""Calls hold 20 turns; only the last one of each user holds fewer."""


@dataclass(frozen=True)
class LanguageRun:
    """What was measured, beside the rules on the same turns, and the calls of the model.

    `verbatim_count` of `stored_count` statements, superseded ones included, have a quotation that stands in
    its turn; `by_rules_count` were found by the rules, which read the turns of calls that failed; `rejected`
    are proposals that were not stored, by reason.
    """

    halumem: HaluMemResult
    rules: HaluMemResult
    calls: tuple[SpendLine, ...]
    stored_count: int
    verbatim_count: int
    by_rules_count: int
    rejected: dict[str, int]

    @property
    def call_count(self) -> int:
        """Calls that the model answered."""
        return sum(line.call_count - line.failed_count for line in self.calls)

    def measured(self) -> dict[str, object]:
        """The results for a file; the calls are in the report."""
        return {name: value for name, value in asdict(self).items() if name != "calls"}


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
        options.json.write_text(as_json(run.measured(), lines), "utf-8")
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
    """Run HaluMem with a model of pydantic-ai, and with the rules, each in a tenant of its own."""
    users = list(users)
    settings = load_settings(extractor="rules", worker=False)
    with EmbeddedServer.start(data_dir):
        async with AsyncMemory(
            data_dir=data_dir, tenant="rules", settings=settings, embedder=embedder
        ) as memory:
            rules = await measure_halumem(memory, users)
        settings = load_settings(extractor="llm", extraction_timeout_s=timeout_s, worker=False)
        async with AsyncMemory(
            data_dir=data_dir, tenant="llm", llm=llm, settings=settings, embedder=embedder
        ) as memory:
            if max_usd is not None:
                await memory.spend.set_cap(max_usd, period="total")
            halumem = await measure_halumem(memory, users)
            statements = [each for user in users for each in await _statements(memory, user.name)]
            return LanguageRun(
                halumem,
                rules,
                tuple(await memory.spend.summary()),
                len(statements),
                sum([await _is_verbatim(memory, each) for each in statements]),
                sum(each.extractor == RULES_NAME for each in statements),
                await _rejected(memory, [user.name for user in users]),
            )


async def _statements(memory: AsyncMemory, owner: str) -> list[Statement]:
    found: list[Statement] = []
    before = None
    while page := await memory.statements.list(owner=owner, status=None, before=before, limit=PAGE):
        found += page
        before = page[-1].memory_id
    return found


async def _is_verbatim(memory: AsyncMemory, statement: Statement) -> bool:
    """Whether a statement has a source, and each source has the quotation in its text."""
    why = await memory.memories.why(statement.memory_id, owner=statement.owner)
    sources = [each for each in why.sources if each.depth == 1]
    texts = [await memory.memories.get(each.memory_id, owner=statement.owner) for each in sources]
    return bool(sources) and all(
        source.quotation is not None and folded(source.quotation) in folded(text.content)
        for source, text in zip(sources, texts, strict=True)
    )


async def _rejected(memory: AsyncMemory, owners: Sequence[str]) -> dict[str, int]:
    reasons: Counter[str] = Counter()
    for owner in owners:
        before = None
        while page := await memory.statements.rejected(owner=owner, before=before, limit=PAGE):
            reasons.update(each.reason for each in page)
            before = page[-1].rejected_id
    return dict(reasons.most_common())


def report_lines(run: LanguageRun) -> list[ReportLine]:
    """Measurements beside their targets."""
    result = run.halumem
    planted = result.planted_stored / max(result.planted_count, 1)
    turns = result.turn_count / max(run.call_count, 1)
    gold = max(result.gold_count, 1)
    rejected = ", ".join(f"{reason} {number:,}" for reason, number in run.rejected.items())
    return [
        ReportLine(
            "planted false memories stored",
            f"{planted:.1%} of {result.planted_count}",
            f"≤ {PLANTED_TARGET:.0%}",
            planted <= PLANTED_TARGET,
        ),
        ReportLine("gold memories covered by statements", f"{result.gold_covered / gold:.2f} of {gold}"),
        ReportLine("gold memories covered by the rules' statements", f"{run.rules.gold_covered / gold:.2f}"),
        ReportLine("gold memories covered by the user's turns", f"{result.gold_in_turns / gold:.2f}"),
        ReportLine("gold memories covered by either", f"{result.gold_in_either / gold:.2f}"),
        ReportLine(
            "statements", f"{result.statement_count:,} (by the rules alone {run.rules.statement_count:,})"
        ),
        ReportLine(
            "statements with a verbatim quotation",
            f"{run.verbatim_count:,} of {run.stored_count:,}",
            "all",
            run.verbatim_count == run.stored_count,
        ),
        ReportLine("statements of the rules, after a failed call", f"{run.by_rules_count:,}"),
        ReportLine("proposals rejected", f"{sum(run.rejected.values()):,} ({rejected or 'none'})"),
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
