"""Writes the numbers of docs/benchmarks.md, and its plots, from the results in bench/results.

    python -m bench.results_page

Replaces the text between `<!-- quality -->` and `<!-- /quality -->`, and so on; the rest of the page is
written by hand. So the numbers always match the results.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.dashboard_page import describe_dashboard
from bench.markdown import (
    ResultsJson,
    calibration_cells,
    markdown_table,
    optional_number,
    optional_share,
    report_table,
)
from bench.mind_page import describe_mind
from bench.plots import Bar, Bars, Points, Series
from bench.stores_page import describe_stores, overview_rows

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs" / "benchmarks.md"
RESULTS = REPOSITORY / "bench" / "results"
PLOTS = "plots"
NOT_MEASURED = "Not measured yet."


def main() -> None:
    """Update the page from the existing results."""
    write_page(PAGE, RESULTS)


def write_page(page: Path, results: Path) -> None:
    """Fill each section that results exist for; plots go into a folder beside the page."""
    (page.parent / PLOTS).mkdir(exist_ok=True)
    text = page.read_text("utf-8")
    found = {section: _read(results / f"{section}.json") for section in SECTIONS}
    text = replaced(text, "overview", "\n".join(describe_all_sets(found["quality"], found["stores"])))
    for section, describe in SECTIONS.items():
        lines = [NOT_MEASURED]
        if (measured := found[section]) is not None:
            lines = [_provenance(measured), "", *describe(measured, page.parent / PLOTS)]
        text = replaced(text, section, "\n".join(lines))
    page.write_text(text, "utf-8")


def _read(written: Path) -> ResultsJson | None:
    if not written.exists():
        return None
    found: ResultsJson = json.loads(written.read_text("utf-8"))
    return found


def replaced(text: str, section: str, content: str) -> str:
    """The text with new content between the marks of a section, which must exist."""
    marks = re.compile(f"(<!-- {section} -->\n).*?(<!-- /{section} -->)", re.DOTALL)
    assert marks.search(text), f"the page has no section {section!r}"
    return marks.sub(lambda match: f"{match[1]}{content}\n{match[2]}", text)


def _provenance(found: ResultsJson) -> str:
    machine = found["machine"]
    return (
        f"Measured {found['measured_at'][:10]} on {machine['cores']} cores, Python {machine['python']}; "
        "in one run."
    )


def describe_all_sets(quality: ResultsJson | None, stores: ResultsJson | None) -> Iterator[str]:
    """One row for each set that was measured, with its main figure."""
    rows = [*(_quality_row(each) for each in (quality or {"sets": []})["sets"])]
    rows += [*overview_rows(stores)] if stores else []
    if not rows:
        yield NOT_MEASURED
        return
    columns = ("set", "questions", "figure", "Mnemic", "cosine", "BM25")
    more = ("answerable refused", "foreign refused", "calibration error", "as asked")
    yield from markdown_table([*columns, *more], rows)


def _quality_row(each: ResultsJson) -> list[str]:
    overall = {name: _overall(averages) for name, averages in each["rankings"].items()}
    figure = "R@10" if "R@10" in overall["Mnemic"] else "all@5"
    refusal = each["refusal"] or {}
    return [
        each["dataset"],
        f"{each['rankings']['Mnemic'][0]['question_count']:,}",
        figure,
        *(optional_number(overall.get(name, {}).get(figure)) for name in ("Mnemic", "dense", "BM25")),
        optional_share(refusal.get("own_refused")),
        optional_share(refusal.get("foreign_refused")),
        *calibration_cells(refusal),
    ]


def describe_quality(found: ResultsJson, plots: Path) -> Iterator[str]:
    """The targets, then each dataset with its rankings and categories, then refusal."""
    yield from report_table(found)
    for each in found["sets"]:
        yield from ("", f"### {each['dataset']}", "")
        yield f"{each['owner_count']} owners, {each['memory_count']:,} memories."
        yield from ("", *_rankings(each), "", "By category, Mnemic:", "", *_categories(each), "")
        name = f"quality-{each['dataset'].lower().replace('_', '-')}.svg"
        (plots / name).write_text(_quality_plot(each).svg(), "utf-8")
        yield f"![{each['dataset']}: Mnemic beside the baselines]({PLOTS}/{name})"
    yield from ("", "### Refusal", "")
    yield from _refusals([each["refusal"] for each in found["sets"] if each["refusal"]])


def _overall(averages: Sequence[ResultsJson]) -> Mapping[str, float]:
    values: Mapping[str, float] = averages[0]["values"]
    return values


def _rankings(each: ResultsJson) -> list[str]:
    labels = list(_overall(each["rankings"]["Mnemic"]))
    rows = [
        [name, *(f"{_overall(averages)[label]:.3f}" for label in labels)]
        for name, averages in each["rankings"].items()
    ]
    return markdown_table(["ranking", *labels], rows)


def _categories(each: ResultsJson) -> list[str]:
    averages = each["rankings"]["Mnemic"]
    rows = [
        [one["category"], f"{one['question_count']:,}", *(f"{value:.3f}" for value in one["values"].values())]
        for one in averages
    ]
    return markdown_table(["category", "questions", *_overall(averages)], rows)


def _quality_plot(each: ResultsJson) -> Bars:
    labels = list(_overall(each["rankings"]["Mnemic"]))
    groups = {
        label: [Bar(name, _overall(averages)[label]) for name, averages in each["rankings"].items()]
        for label in labels
    }
    return Bars(each["dataset"], groups, most=1.0)


def _refusals(refusals: Sequence[ResultsJson]) -> list[str]:
    rows = [
        [
            each["dataset"],
            optional_number(each["area"]),
            f"{optional_share(each['own_refused'])} of {each['own_count']:,}",
            f"{optional_share(each['foreign_refused'])} of {each['foreign_count']:,}",
            _without_shared(each),
            optional_number(each["unanswerable_area"]),
            f"{optional_share(each['unanswerable_refused'])} of {each['unanswerable_count']}",
            *calibration_cells(each),
        ]
        for each in refusals
    ]
    columns = ("dataset", "area, own/foreign", "own refused", "foreign refused", "without shared evidence")
    more = ("area, own/near misses", "near misses refused", "calibration error", "as asked")
    return markdown_table([*columns, *more], rows)


def _without_shared(refusal: ResultsJson) -> str:
    """Area and foreign refused without the foreign questions with shared evidence, and how many these are."""
    count = refusal.get("shared_evidence_count", 0)
    if not count:
        return "–"
    area = optional_number(refusal["area_without_shared"])
    return f"{area}, {optional_share(refusal['foreign_refused_without_shared'])}, without {count:,}"


def describe_qa(found: ResultsJson, plots: Path) -> Iterator[str]:
    """The models and what they cost, then the score of each set and category."""
    settings, cost = found["settings"], found["cost"]
    yield (
        f"Answered by {settings['llm']}, judged by {settings['judge']}; {cost['usd']:.2f} USD, "
        f"{cost['input_tokens']:,} input and {cost['output_tokens']:,} output tokens."
    )
    rows = [
        [each["set"], each["category"], f"{each['question_count']:,}", f"{each['score']:.3f}"]
        for each in found["scores"]
    ]
    yield from ("", *markdown_table(["set", "category", "questions", "score"], rows))


def describe_speed(found: ResultsJson, plots: Path) -> Iterator[str]:
    """The targets, then each part that was measured."""
    yield from report_table(found)
    results = found["results"]
    if results["sizes"]:
        (plots / "speed-sizes.svg").write_text(_speed_plot(results["sizes"]).svg(), "utf-8")
        yield from ("", "### One large tenant", "", f"![Recall by size]({PLOTS}/speed-sizes.svg)")
    for size in results["sizes"]:
        yield from ("", f"{size['memory_count']:,} memories, p50 / p95 / p99 in milliseconds:", "")
        yield from _stages(size)
    if results["relations"]:
        yield from ("", "On disk, all sizes together, in megabytes:", "", *_relations(results["relations"]))
    if results.get("conversations"):
        yield from ("", "### Real conversations", "", *_conversations(results["conversations"]))
    if results["side_by_side"]:
        yield from ("", "### Side by side", "", *_side_by_side(results["side_by_side"]))


def _stages(size: ResultsJson) -> list[str]:
    columns = {"cold, 1 reader": size["cold"], "warming up, 1 reader": size["warming"]}
    for each in size["warm"]:
        columns[f"warm, {each['reader_count']} reader{'s' if each['reader_count'] > 1 else ''}"] = each
    rows = [["whole call", *(_times(readers["whole"]) for readers in columns.values())]]
    for stage in size["warm"][0]["stages"]:
        times = (readers["stages"].get(stage) for readers in columns.values())
        rows.append([stage, *(_times(each) if each else "–" for each in times)])
    rows.append(["calls per second", *(f"{readers['calls_per_s']:.1f}" for readers in columns.values())])
    return markdown_table(["stage", *columns], rows)


def _relations(relations: Sequence[ResultsJson]) -> list[str]:
    rows = [[each["name"], f"{each['table_mb']:,.1f}", f"{each['index_mb']:,.1f}"] for each in relations]
    return markdown_table(["table or index", "table", "indexes"], rows)


def _conversations(speeds: Sequence[ResultsJson]) -> list[str]:
    rows = [
        [
            speed["code"],
            limit,
            _times(cost["latency"]),
            f"{cost['python_cpu_ms']:.1f}",
            f"{cost['postgres_cpu_ms']:.1f}",
        ]
        for speed in speeds
        for limit, cost in speed["by_limit"].items()
    ]
    return markdown_table(
        ["code", "hits", "p50 / p95 / p99, ms", "CPU, Python, ms", "CPU, PostgreSQL, ms"], rows
    )


def _side_by_side(speeds: Sequence[ResultsJson]) -> list[str]:
    limits = sorted({limit for speed in speeds for limit in speed["by_limit"]}, key=int)
    rows = [
        [
            speed["name"],
            *(_searches(speed, limit) for limit in limits),
            ", ".join(speed["versions"]),
            speed["problem"] or speed["fairness"],
        ]
        for speed in speeds
    ]
    columns = (f"k={limit}, ms" for limit in limits)
    return markdown_table(["store", *columns, "versions", "notes"], rows)


def _searches(speed: ResultsJson, limit: str) -> str:
    if limit not in speed["by_limit"]:
        return "–"
    found = speed["found_per_search"].get(limit, int(limit))
    return _times(speed["by_limit"][limit]) + (f", finds {found:.0f}" if found < int(limit) else "")


def _times(latency: ResultsJson) -> str:
    return f"{latency['p50_ms']:.1f} / {latency['p95_ms']:.1f} / {latency['p99_ms']:.1f}"


def _speed_plot(sizes: Sequence[ResultsJson]) -> Points:
    def alone(size: ResultsJson) -> ResultsJson:
        found: ResultsJson = next(each for each in size["warm"] if each["reader_count"] == 1)["whole"]
        return found

    return Points(
        "Whole call, one reader, warm: milliseconds by number of memories",
        [
            Series(percentile, [(size["memory_count"], alone(size)[f"{percentile}_ms"]) for size in sizes])
            for percentile in ("p50", "p95", "p99")
        ],
    )


SECTIONS: dict[str, Callable[[ResultsJson, Path], Iterator[str]]] = {
    "quality": describe_quality,
    "stores": describe_stores,
    "mind": describe_mind,
    "qa": describe_qa,
    "speed": describe_speed,
    "dashboard": describe_dashboard,
}


if __name__ == "__main__":
    main()
