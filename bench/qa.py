"""Question answering with a language model over what recall finds, judged by a language model.

    python -m bench.qa DATA --llm provider:model [--judge provider:model] [--only locomo] [--owners N]
                       [--max-usd 5] [--price IN,OUT] [--judge-price IN,OUT] [--yes] [--concurrency 4]
                       [--max-tokens 6000] [--results FILE] [--cache FOLDER] [--json bench/results/qa.json]

DATA is a folder with the files of LongMemEval (oracle and S), LoCoMo and BEAM (`bench/qa_data.py`). For each
question, the answering model gets the text of one recall (for the oracle, the whole history) and the judging
model compares its answer with the reference (`bench/qa_judging.py`).

The estimated cost is shown before anything is sent and must be confirmed, except with `--yes`; the actual
cost is shown at the end. `--max-usd` limits what all runs with one results file spend together. A run that
stopped, for whatever reason, continues where it was when it is started again with the same results file.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from pydantic_ai.models import infer_model
from rich.console import Console

from bench.cached_embedder import CachedEmbedder
from bench.datasets import MissingDataError
from bench.qa_data import QA_SETS, QaSet, read_qa_set
from bench.qa_report import scores_of, show
from bench.qa_results import ResultsFile, SettingsChangedError, UnreadableResultsError
from bench.qa_run import QaRun, estimated_usd
from bench.qa_spending import (
    Budget,
    GivenPrices,
    MeteredModel,
    Prices,
    Spending,
    UnknownPriceError,
    find_prices,
)
from bench.report import as_json
from mnemic import AsyncMemory
from mnemic.db.embedded import stop
from mnemic.errors import ConfigurationError
from mnemic.models.language import LanguageModel, open_language_model
from mnemic.models.local import MiniLM

DEFAULT_MAX_USD = 5.0
DEFAULT_CONCURRENCY = 4
MAX_CONCURRENCY = 32
DEFAULT_MAX_TOKENS = 6_000
DEFAULT_RESULTS = Path("qa-results.jsonl")


def main() -> int:
    """Estimate, ask for confirmation, run, and show the results."""
    options = _options()
    console = Console(stderr=True)
    judge = options.judge or options.llm
    settings = {"llm": options.llm, "judge": judge, "max_tokens": options.max_tokens}
    judge_price = options.judge_price or (options.price if judge == options.llm else None)
    try:
        sets = [read_qa_set(name, options.data, options.owners) for name in options.only or QA_SETS]
        answering_prices = find_prices(options.llm, options.price, "--price")
        judging_prices = find_prices(judge, judge_price, "--judge-price")
        results = ResultsFile(options.results, settings)
        budget = Budget(options.max_usd, Spending(usd=results.spent_usd))
        answering = metered(options.llm, answering_prices, budget)
        judging = metered(judge, judging_prices, budget)
    except (
        MissingDataError,
        UnknownPriceError,
        SettingsChangedError,
        UnreadableResultsError,
        ConfigurationError,
    ) as error:
        console.print(str(error), markup=False)
        return 2
    count, usd = estimated_usd(
        sets, results, max_tokens=options.max_tokens, answering=answering_prices, judging=judging_prices
    )
    console.print(
        f"{len(results.answered):,} questions are answered, {count:,} remain. They will cost about "
        f"{usd:.2f} USD; {results.spent_usd:.2f} of at most {options.max_usd:.2f} USD are spent."
    )
    if count and not (options.yes or _is_confirmed()):
        console.print("Nothing was sent. Confirm with y, or start with --yes.")
        return 2
    stopped = run(sets, answering, judging, results, options, console) if count else ""
    return _finish(results, settings, options.json, stopped, console)


def metered(spec: str, prices: Prices, budget: Budget) -> LanguageModel:
    """The model through Mnemic's own layer, counted by the budget. ConfigurationError for a wrong spec."""
    # Checks the name, the package and the key, and explains what is missing.
    assert open_language_model(spec) is not None
    model = open_language_model(MeteredModel(infer_model(spec), prices, budget))
    assert model is not None
    return model


def _is_confirmed() -> bool:
    return sys.stdin.isatty() and input("Continue? [y/N] ").strip().lower() in ("y", "yes")


def run(
    sets: Sequence[QaSet],
    answering: LanguageModel,
    judging: LanguageModel,
    results: ResultsFile,
    options: argparse.Namespace,
    console: Console,
) -> str:
    """Ask everything that remains, on an embedded server; returns why it stopped early, else nothing."""
    with tempfile.TemporaryDirectory(prefix="mnemic-bench-") as folder:
        data_dir = Path(folder) / "data"

        async def ask() -> str:
            engine = CachedEmbedder(MiniLM(), options.cache or Path(folder) / "cache")
            try:
                async with AsyncMemory(data_dir=data_dir, embedder=engine) as memory:
                    asking = QaRun(
                        memory,
                        answering,
                        judging,
                        results,
                        console,
                        concurrency=options.concurrency,
                        max_tokens=options.max_tokens,
                    )
                    await asking.run(sets)
                    return asking.stopped
            finally:
                await engine.aclose()

        try:
            return asyncio.run(ask())
        finally:
            stop(data_dir)


def _finish(
    results: ResultsFile, settings: dict[str, object], path: Path | None, stopped: str, console: Console
) -> int:
    answered = list(results.answered.values())
    scores = scores_of(answered)
    show(Console(), scores)
    tokens = (sum(each.input_tokens for each in answered), sum(each.output_tokens for each in answered))
    console.print(f"Spent: {results.spent_usd:.4f} USD, {tokens[0]:,} input and {tokens[1]:,} output tokens.")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        cost = {"usd": results.spent_usd, "input_tokens": tokens[0], "output_tokens": tokens[1]}
        measured = {"settings": settings, "cost": cost, "scores": [asdict(each) for each in scores]}
        path.write_text(as_json(measured, []), "utf-8")
    if stopped:
        console.print(f"Stopped early: {stopped} Start again to continue.", markup=False)
    return int(bool(stopped))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure question answering with a language model.")
    parser.add_argument("data", type=Path, help="folder with the dataset files")
    parser.add_argument("--llm", required=True, metavar="PROVIDER:MODEL", help="answers the questions")
    parser.add_argument("--judge", metavar="PROVIDER:MODEL", help="judges the answers; else the same model")
    parser.add_argument("--only", action="append", choices=list(QA_SETS), help="only this set; repeatable")
    parser.add_argument("--owners", type=int, metavar="N", help="only the first N owners of each set")
    parser.add_argument("--max-usd", type=float, default=DEFAULT_MAX_USD, help="never spend more")
    parser.add_argument("--price", type=_prices, metavar="IN,OUT", help="USD for a million tokens")
    parser.add_argument("--judge-price", type=_prices, metavar="IN,OUT", help="the same for the judge")
    parser.add_argument("--yes", action="store_true", help="do not ask before spending")
    parser.add_argument(
        "--concurrency",
        type=int,
        choices=range(1, MAX_CONCURRENCY + 1),
        default=DEFAULT_CONCURRENCY,
        metavar="N",
        help="questions at a time",
    )
    parser.add_argument("--max-tokens", type=int, default=DEFAULT_MAX_TOKENS, help="of a recall's text")
    parser.add_argument("--results", type=Path, default=DEFAULT_RESULTS, metavar="FILE", help="continue here")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep vectors of texts here")
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the scores to this file")
    return parser.parse_args()


def _prices(text: str) -> GivenPrices:
    input_usd, output_usd = map(float, text.split(","))
    return GivenPrices(input_usd, output_usd)


if __name__ == "__main__":
    sys.exit(main())
