"""Write the table of figures in the README from the results of the benchmarks.

python tools/readme_figures.py            write the README
python tools/readme_figures.py --check    exit 1 when it is out of date
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "bench" / "results"
BEGIN, END = "<!-- figures: written by `make generate` from bench/results -->\n", "<!-- /figures -->\n"
RANKINGS = (
    ("LoCoMo", "R@10", "LoCoMo, share of the evidence among ten hits"),
    ("BEAM", "R@10", "BEAM, the same"),
    ("LongMemEval_S", "all@5", "LongMemEval_S, all answering chats among five"),
)
STORES = {"mem0": "mem0", "Chroma": "Chroma", "LangGraph, flat": "LangGraph without an index"}


def main(arguments: Sequence[str]) -> int:
    """Write or check the README; returns the exit code."""
    text = README.read_text("utf-8")
    present = with_figures(text)
    if present == text:
        return 0
    if "--check" in arguments:
        print("README.md is out of date: run 'make generate'.", file=sys.stderr)
        return 1
    README.write_text(present, "utf-8")
    print("README.md written")
    return 0


def with_figures(text: str) -> str:
    """The README with the present figures."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("README.md lacks the marks between which the figures stand")
    rows = ["| | Mnemic | beside it, in the same run |", "|---|---|---|"]
    rows += [*_quality(), *_speed(), _writing(), _context()]
    return before + BEGIN + "\n".join(rows) + "\n" + END + after


def _quality() -> list[str]:
    sets = {each["dataset"]: each for each in _results("quality")["sets"]}
    rows = []
    for dataset, figure, name in RANKINGS:
        values = {key: rows[0]["values"][figure] for key, rows in sets[dataset]["rankings"].items()}
        note = ", by which Chroma and LangGraph's store rank," if dataset == "LoCoMo" else ""
        rows.append(
            f"| {name} | **{_share(values['Mnemic'])}** | cosine alone{note} {_share(values['dense'])}; "
            f"BM25 {_share(values['BM25'])} |"
        )
    refusal = sets["LoCoMo"]["refusal"]
    refused = f"{_percent(refusal['foreign_refused'])}; {_percent(refusal['own_refused'])}"
    rows.append(f"| LoCoMo, questions about other people refused; own ones refused | {refused} | |")
    return rows


def _speed() -> list[str]:
    results = _results("speed")["results"]
    p95 = {each["name"]: f"{each['by_limit']['10']['p95_ms']:.1f}" for each in results["side_by_side"]}
    million = next(size["warm"][0] for size in results["sizes"] if size["memory_count"] == 1_000_000)
    return [
        f"| search among 10,000 memories, p95 with the embedding | {p95['Mnemic']} ms | mem0 {p95['mem0']}; "
        f"Chroma {p95['Chroma']}; LangGraph {p95['LangGraph']}, without an index {p95['LangGraph, flat']} |",
        f"| recall of an owner with a million memories, p95 | {million['whole']['p95_ms']:.1f} ms | |",
    ]


def _writing() -> str:
    measured = {each["what"]: each["measured"].partition(" ")[0] for each in _results("write")["report"]}
    rate = next(value for what, value in measured.items() if what.startswith("retain_many"))
    ratios = [f"{name} {measured[f'Mnemic against {store}, in bulk']}" for store, name in STORES.items()]
    return f"| storing in bulk, vectors given | {rate} a second | times as fast as: {', '.join(ratios)} |"


def _context() -> str:
    shares: dict[str, str] = {}
    for each in _results("context")["whole"]:
        shares.setdefault(each["policy"], f"{_percent(each['tokens'])}; {_percent(each['cost'])}")
    return (
        f"| context of recorded agent sessions, tokens; cost | **{shares['Mnemic']}** of full context | "
        f"compaction {shares['compaction at 155 k']}; sliding window {shares['sliding window, 100 k']} |"
    )


def _results(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
