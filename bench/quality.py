"""Retrieval quality of recall on public datasets, beside common baselines in the same run.

    python -m bench.quality DATA [--only locomo] [--cache FOLDER] [--json bench/results/quality.json]

DATA is a folder with the files of LoCoMo, LongMemEval_S and BEAM (`bench/datasets.py`). Every dataset goes
through the public API on an embedded server in a temporary folder, with the local embedder, no language model
and one configuration: `retain_many` stores the turns, `recall` asks each question as of the time of the
question. The folder `--cache` keeps the vectors: embedding LongMemEval takes twenty minutes on two cores.

Then every owner's memory is asked its own questions and those of others, to measure refusal
(`bench/refusal.py`). Prints tables with the targets; the exit code is 1 when one is missed.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from bench.cached_embedder import CachedEmbedder
from bench.calibration import HITS
from bench.datasets import SOURCES, Dataset, MissingDataError, Owner, Question, Unit, load
from bench.quality_baselines import Stems, rank
from bench.quality_metrics import LIMITS, Answered, averages, first_appearances
from bench.quality_report import MNEMIC, Quality, report_lines, show
from bench.refusal import Refusal, Verdict, measure_refusal
from bench.report import as_json
from mnemic import AsyncMemory
from mnemic.config import load_settings
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer, stop
from mnemic.models.local import MiniLM
from mnemic.types.memory import MemoryRecord
from mnemic.types.recalled import Hit

NEVER_REFUSE = 0.0
STATEMENT_TIMEOUT_S = 300.0
"""Quality must not depend on how busy the machine is."""


def main() -> int:
    """Measure, print and write the results."""
    options = _options()
    try:
        datasets = [load(SOURCES[name], options.data) for name in options.only or SOURCES]
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 2
    if options.owners is not None:
        datasets = [replace(each, owners=each.owners[: options.owners]) for each in datasets]
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        qualities = measure(datasets, Path(folder) / "data", options.cache or Path(folder) / "cache")
    lines = report_lines(qualities)
    show(Console(), qualities, lines)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(as_json({"sets": [asdict(each) for each in qualities]}, lines))
    return int(any(line.met is False for line in lines))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the retrieval quality of recall.")
    parser.add_argument("data", type=Path, help="folder with the dataset files")
    parser.add_argument(
        "--only", action="append", choices=list(SOURCES), help="only this dataset; repeatable"
    )
    parser.add_argument("--owners", type=int, metavar="N", help="only the first N owners of each dataset")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep vectors of texts here")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results to this file")
    return parser.parse_args()


def measure(datasets: Sequence[Dataset], data_dir: Path, cache: Path) -> list[Quality]:
    """All datasets on one embedded server."""
    try:
        return asyncio.run(_measure(datasets, data_dir, cache, Console(stderr=True)))
    finally:
        stop(data_dir)


async def _measure(
    datasets: Sequence[Dataset], data_dir: Path, cache: Path, progress: Console
) -> list[Quality]:
    engine = CachedEmbedder(MiniLM(), cache)
    try:
        settings = load_settings(statement_timeout_s=STATEMENT_TIMEOUT_S)
        async with AsyncMemory(data_dir=data_dir, embedder=engine, settings=settings) as memory:
            bench = Bench(memory, engine, data_dir, progress)
            return [await bench.measure(dataset) for dataset in datasets]
    finally:
        await engine.aclose()


@dataclass(frozen=True)
class Bench:
    """Runs datasets on an open memory, one after the other."""

    memory: AsyncMemory
    engine: CachedEmbedder
    data_dir: Path
    progress: Console

    async def measure(self, dataset: Dataset) -> Quality:
        """Retain, recall, compare with the baselines, measure refusal."""
        self.progress.print(f"{dataset.name}: retaining …")
        memory_count = 0
        for owner in dataset.owners:
            memory_count += await self.retain(dataset, owner)
        self.progress.print(f"{dataset.name}: asking …")
        answered, times_ms = await self.ask_all(dataset)
        self.progress.print(f"{dataset.name}: baselines …")
        rankings = {MNEMIC: answered} | await self._baselines(dataset)
        self.progress.print(f"{dataset.name}: refusal …")
        p50_ms, p95_ms = np.percentile(times_ms, [50, 95])
        return Quality(
            dataset=dataset.name,
            owner_count=len(dataset.owners),
            memory_count=memory_count,
            rankings={name: averages(each, dataset.unit) for name, each in rankings.items()},
            recall_p50_ms=float(p50_ms),
            recall_p95_ms=float(p95_ms),
            refusal=await self._refusal(dataset),
        )

    async def retain(self, dataset: Dataset, owner: Owner) -> int:
        """Store the turns of an owner; returns how many."""
        items = (turn.item() for turn in owner.turns)
        retained = await self.memory.retain_many(items, owner=owner_name(dataset, owner))
        assert retained.stored_count == len(owner.turns), "each turn is one memory"
        return retained.stored_count

    async def ask_all(self, dataset: Dataset) -> tuple[list[Answered], list[float]]:
        """The ranking of each answerable question, and the time of each call."""
        answered, times_ms = [], []
        for owner in dataset.owners:
            for question in owner.answerable:
                began_s = time.perf_counter()
                ranked = await self._ask(dataset, owner, question)
                times_ms.append((time.perf_counter() - began_s) * 1000)
                answered.append(Answered(question, ranked))
        return answered, times_ms

    async def _ask(self, dataset: Dataset, owner: Owner, question: Question) -> tuple[str, ...]:
        found = await self.memory.recall(
            question.text,
            owner=owner_name(dataset, owner),
            limit=LIMITS[dataset.unit],
            at=question.at,
            refuse_below=NEVER_REFUSE,
        )
        return first_appearances(_unit_id(hit.memory, dataset.unit) for hit in found)

    async def _baselines(self, dataset: Dataset) -> dict[str, list[Answered]]:
        texts = [turn.dated for owner in dataset.owners for turn in owner.turns]
        texts += [question.text for owner in dataset.owners for question in owner.questions]
        with EmbeddedServer.start(self.data_dir) as server:
            stems = Stems.read(server.conninfo(user=ADMIN_ROLE, dbname="postgres"), texts)
        answered: dict[str, list[Answered]] = defaultdict(list)
        for owner in dataset.owners:
            for name, found in (await rank(owner, dataset.unit, stems, self.engine)).items():
                answered[name] += found
        return answered

    async def _refusal(self, dataset: Dataset) -> Refusal:
        async def ask(owner: Owner, question: Question) -> Verdict:
            return await self._verdict(dataset, owner, question)

        return await measure_refusal(dataset, ask)

    async def _verdict(self, dataset: Dataset, owner: Owner, question: Question) -> Verdict:
        """Ask as a user does; an own question that is refused is asked again with refusal off."""
        name = owner_name(dataset, owner)
        asking = partial(self.memory.recall, question.text, owner=name, limit=HITS, at=question.at)
        found = await asking()
        hits: tuple[Hit, ...] = ()
        if any(question is own for own in owner.answerable):
            hits = (await asking(refuse_below=NEVER_REFUSE)).hits if found.refused else found.hits
        units = {_unit_id(hit.memory, dataset.unit) for hit in hits}
        return Verdict(found.confidence, found.refused, not question.evidence.isdisjoint(units))


def _unit_id(memory: MemoryRecord, unit: Unit) -> str:
    """What evidence would call this memory; the chunks of a long turn share the turn's id."""
    found = memory.external_id if unit == "turn" else memory.conversation
    # What consolidation has made is no evidence, and takes a rank.
    return found if found is not None else str(memory.memory_id)


def owner_name(dataset: Dataset, owner: Owner) -> str:
    """The owner in the database: names of one dataset may occur in another."""
    return f"{dataset.name} {owner.name}"


if __name__ == "__main__":
    sys.exit(main())
