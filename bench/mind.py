"""What Mnemic makes of what it is given: facts that change, statements from dialogues, nothing twice.

    python -m bench.mind DATA [--only conflicts] [--cache FOLDER] [--json bench/results/mind.json]

DATA is a folder with the files `conflicts_*`, `small_*`, `halumem_*`, `locomo_*`, `beam_*`. Everything goes
through the public API on an embedded server in a temporary folder, with the local embedder, no language model
and one configuration. The part `idle` also moves the stored times, as an administrator.
Prints tables with the targets; the exit code is 1 when one is missed.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from bench.cached_embedder import CachedEmbedder
from bench.datasets import SOURCES, MissingDataError, load
from bench.mind_conflicts import measure_conflicts
from bench.mind_data import read_conflicts
from bench.mind_halumem import measure_halumem, read_halumem
from bench.mind_idle import measure_idle
from bench.mind_relations import measure_relations
from bench.mind_report import MindResults, report_lines, show
from bench.mind_undo import measure_undo
from bench.mind_unrelated import measure_unrelated
from bench.quality import STATEMENT_TIMEOUT_S, Bench
from bench.report import as_json
from bench.stores import StoreBench
from bench.stores_data import read_stores
from mnemic import AsyncMemory
from mnemic.config import load_settings
from mnemic.db.embedded import EmbeddedServer, stop
from mnemic.models.local import MiniLM

IDLE_SETS = ("locomo", "beam")


def main() -> int:
    """Measure, print and write the results."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        bench = MindBench(
            options.data, Path(folder) / "data", options.cache or Path(folder) / "cache", options.json
        )
        try:
            results = bench.measure(options.only or list(PARTS))
        except MissingDataError as error:
            print(error, file=sys.stderr)
            return 2
    lines = report_lines(results)
    show(Console(), results, lines)
    return int(any(line.met is False for line in lines))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure facts that change and statements from dialogues.")
    parser.add_argument("data", type=Path, help="folder with the files of the sets")
    parser.add_argument("--only", action="append", choices=list(PARTS), help="only this part; repeatable")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep vectors of texts here")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results to this file")
    return parser.parse_args()


@dataclass(frozen=True)
class MindRun:
    """What a part needs: a memory with a tenant of its own, and where its results go."""

    memory: AsyncMemory
    engine: CachedEmbedder
    data: Path
    data_dir: Path
    results: MindResults


@dataclass(frozen=True)
class MindBench:
    """Measures parts on one embedded server, each in a tenant of its own."""

    data: Path
    data_dir: Path
    cache: Path
    json: Path | None = None

    def measure(self, parts: list[str]) -> MindResults:
        """Measure these parts; the results are written after each, so that a run that fails keeps some."""
        try:
            with EmbeddedServer.start(self.data_dir):
                return asyncio.run(self._measure(parts))
        finally:
            stop(self.data_dir)

    async def _measure(self, parts: list[str]) -> MindResults:
        engine = CachedEmbedder(MiniLM(), self.cache)
        settings = load_settings(statement_timeout_s=STATEMENT_TIMEOUT_S)
        results = MindResults()
        try:
            for part in parts:
                async with AsyncMemory(
                    data_dir=self.data_dir, tenant=part, embedder=engine, settings=settings
                ) as memory:
                    await PARTS[part](MindRun(memory, engine, self.data, self.data_dir, results))
                self._write(results)
        finally:
            await engine.aclose()
        return results

    def _write(self, results: MindResults) -> None:
        if self.json is not None:
            self.json.parent.mkdir(parents=True, exist_ok=True)
            self.json.write_text(as_json(results.measured(), report_lines(results)), "utf-8")


async def _conflicts(run: MindRun) -> None:
    for conflicts in read_conflicts(run.data):
        run.results.conflicts.append(await measure_conflicts(run.memory, conflicts))


async def _small(run: MindRun) -> None:
    with Progress(console=Console(stderr=True)) as progress:
        bench = StoreBench(run.memory, run.engine, progress)
        result = await bench.measure("small", list(read_stores("small", run.data)))
    run.results.small = result.of("update")


async def _halumem(run: MindRun) -> None:
    run.results.halumem = await measure_halumem(run.memory, read_halumem(run.data))


async def _undo(run: MindRun) -> None:
    conflicts = next(each for each in read_conflicts(run.data) if each.is_single_hop)
    run.results.undo = await measure_undo(run.memory, conflicts)


async def _idle(run: MindRun) -> None:
    bench = Bench(run.memory, run.engine, run.data_dir, Console(stderr=True))
    run.results.idle = await measure_idle(bench, [load(SOURCES[name], run.data) for name in IDLE_SETS])


async def _unrelated(run: MindRun) -> None:
    run.results.unrelated = await measure_unrelated(run.memory)


async def _relations(run: MindRun) -> None:
    run.results.relations = await measure_relations(run.memory)


PARTS: dict[str, Callable[[MindRun], Awaitable[None]]] = {
    "conflicts": _conflicts,
    "small": _small,
    "halumem": _halumem,
    "unrelated": _unrelated,
    "relations": _relations,
    "undo": _undo,
    "idle": _idle,
}
"""The parts that a user chooses; each adds to the results."""


if __name__ == "__main__":
    sys.exit(main())
