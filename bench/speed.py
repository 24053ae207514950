"""Speed of recall, query embedding included.

    python -m bench.speed [--sizes 10000,100000] [--million] [--tenants 50] [--calls 200]
                          [--data FOLDER] [--beside SRC] [--cache FOLDER] [--json bench/results/speed.json]
                          [--only sizes|neighbours|conversations|side-by-side]

1. One tenant with one owner of each size: cold and warm, one reader and eight, stage by stage, the
   recall of the vector index against an exact scan, disk use (`bench/speed_sizes.py`).
2. Small tenants of 1,000 memories with and without those large neighbours (`bench/speed_neighbours.py`).
3. 10,000 turns of real conversations, if `--data` names the folder with LoCoMo: latency and CPU time, also
   beside the code of another checkout (`bench/speed_conversations.py`).
4. mem0, Chroma and LangGraph's PostgresStore with the same 10,000 memories and the same embedder,
   alternating (`bench/speed_side_by_side.py`).

Texts and vectors are generated from fixed seeds (`bench/speed_texts.py`, `bench/speed_vectors.py`).
Everything runs on embedded servers in a temporary folder, with fsync on and default settings; nothing leaves
the machine, except that the competitors are installed from the package registry on the first run.
Prints tables with the targets; the exit code is 1 when one is missed.
"""

import argparse
import asyncio
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from bench.report import as_json
from bench.speed_conversations import TURN_COUNT, ConversationSpeed, measure_conversations
from bench.speed_index import Relation, relation_sizes
from bench.speed_neighbours import Neighbours, fill_tenants, measure_neighbours
from bench.speed_report import Results, report_lines, show
from bench.speed_side_by_side import SearchSpeed, measure_search_side_by_side
from bench.speed_sizes import SizeResult, measure_size
from bench.write import Clock
from mnemic.db.embedded import stop
from mnemic.models.local import MiniLM

PARTS = ("sizes", "neighbours", "conversations", "side-by-side")
MILLION = 1_000_000
DEFAULT_SIZES = (10_000, 100_000)
DEFAULT_TENANTS = 50
DEFAULT_CALLS = 200
DEFAULT_TIMEOUT_S = 4 * 3_600.0
SIDE_BY_SIDE_COUNT = 10_000


@dataclass(frozen=True)
class Plan:
    """Sizes and numbers of calls."""

    parts: tuple[str, ...]
    sizes: tuple[int, ...]
    tenant_count: int
    call_count: int
    side_by_side_count: int
    turn_count: int


@dataclass(frozen=True)
class Places:
    """Folders: of LoCoMo, of the sources of other code, and of cached vectors; None if not given."""

    data: Path | None
    beside: Path | None
    cache: Path | None


def main() -> int:
    """Measure, print and write the results."""
    options = _options()
    plan = Plan(
        parts=tuple(options.only or PARTS),
        sizes=tuple(sorted({*options.sizes, *([MILLION] if options.million else [])})),
        tenant_count=options.tenants,
        call_count=options.calls,
        side_by_side_count=options.side_by_side_count,
        turn_count=options.turns,
    )
    places = Places(options.data, options.beside, options.cache)
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        results = measure(Path(folder), plan, places, Clock(options.timeout), Console(stderr=True))
    lines = report_lines(results)
    show(Console(), results, lines)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(as_json({"plan": asdict(plan), "results": asdict(results)}, lines))
    return int(any(line.met is False for line in lines))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how fast recall is.")
    parser.add_argument(
        "--sizes", type=_sizes, default=DEFAULT_SIZES, metavar="N,N", help="memories of an owner"
    )
    parser.add_argument("--million", action="store_true", help="also with a million memories")
    parser.add_argument("--tenants", type=int, default=DEFAULT_TENANTS, help="number of small tenants")
    parser.add_argument("--calls", type=int, default=DEFAULT_CALLS, help="calls per measurement")
    parser.add_argument("--only", action="append", choices=PARTS, help="only this part; repeatable")
    parser.add_argument(
        "--side-by-side-count",
        type=int,
        default=SIDE_BY_SIDE_COUNT,
        help="memories in each store, side by side",
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="folder with LoCoMo's file")
    parser.add_argument("--turns", type=int, default=TURN_COUNT, help="turns of real conversations")
    parser.add_argument(
        "--beside", type=Path, metavar="SRC", help="src folder of other code to compare with on LoCoMo"
    )
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep vectors of LoCoMo's turns here")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results to this file")
    parser.add_argument("--timeout", type=float, default=DEFAULT_TIMEOUT_S, metavar="SECONDS")
    options = parser.parse_args()
    if options.data is None and "conversations" in (options.only or ()):
        parser.error("the part conversations needs --data, a folder with LoCoMo's file")
    if options.beside is not None and not (options.beside / "mnemic").is_dir():
        parser.error(f"{options.beside} has no package mnemic: --beside takes the src folder of a checkout")
    return options


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(","))


def measure(folder: Path, plan: Plan, places: Places, clock: Clock, progress: Console) -> Results:
    """Run the chosen parts, one after the other."""
    sizes, relations, neighbours = asyncio.run(_measure_mnemic(folder, plan, clock, progress))
    conversations: list[ConversationSpeed] = []
    if "conversations" in plan.parts and places.data is not None:
        progress.print(f"{plan.turn_count:,} turns of real conversations …")
        conversations = measure_conversations(
            folder / "conversations",
            places.data,
            turn_count=plan.turn_count,
            call_count=plan.call_count,
            beside=places.beside,
            cache=places.cache,
            time_left_s=clock.left_s,
        )
    beside: list[SearchSpeed] = []
    if "side-by-side" in plan.parts:
        progress.print("side by side …")
        (folder / "side by side").mkdir()
        beside = measure_search_side_by_side(
            folder / "side by side",
            MiniLM(),
            memory_count=plan.side_by_side_count,
            call_count=plan.call_count,
            time_left_s=clock.left_s,
        )
    return Results(sizes, relations, neighbours, beside, conversations)


async def _measure_mnemic(
    folder: Path, plan: Plan, clock: Clock, progress: Console
) -> tuple[list[SizeResult], list[Relation], Neighbours | None]:
    """The large tenants, then the small ones with and without them."""
    alone_dir, beside_dir = folder / "alone", folder / "beside"
    model = MiniLM()
    try:
        await model.embed(["Load the model."], input_type="query")
        if "neighbours" in plan.parts:
            progress.print(f"filling {plan.tenant_count:,} small tenants, twice …")
            for data_dir in (alone_dir, beside_dir):
                await clock.within(fill_tenants(data_dir, plan.tenant_count))
        sizes = []
        # The part about neighbours needs the large tenants.
        for count in plan.sizes if {"sizes", "neighbours"} & set(plan.parts) else ():
            progress.print(f"{count:,} memories …")
            measured = measure_size(beside_dir, model, memory_count=count, call_count=plan.call_count)
            sizes.append(await clock.within(measured))
        relations = await asyncio.to_thread(relation_sizes, beside_dir) if sizes else []
        neighbours = None
        if "neighbours" in plan.parts:
            progress.print("small tenants with and without large neighbours …")
            neighbours = await clock.within(
                measure_neighbours(alone_dir, beside_dir, model, tenant_count=plan.tenant_count)
            )
        return sizes, relations, neighbours
    finally:
        await model.aclose()
        for data_dir in (alone_dir, beside_dir):
            await asyncio.to_thread(stop, data_dir)


if __name__ == "__main__":
    sys.exit(main())
