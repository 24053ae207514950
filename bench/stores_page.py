"""The section of docs/benchmarks.md about the stores that people build."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.markdown import ResultsJson, calibration_cells, markdown_table, optional_share, report_table
from bench.plots import Bar, Bars


def describe_stores(found: ResultsJson, plots: Path) -> Iterator[str]:
    """The targets, then each set with its kinds of questions."""
    yield from report_table(found)
    for each in found["sets"]:
        yield from ("", f"### {each['name']}", "")
        yield f"{each['owner_count']} owners, {each['memory_count']:,} memories."
        yield from ("", *_hits(each, found["ranks"]), "", *_refusals(each))
    (plots / "stores.svg").write_text(_plot(found["sets"]).svg(), "utf-8")
    yield from ("", "![hit@1: Mnemic beside the baselines](plots/stores.svg)")


def _hits(each: ResultsJson, ranks: Sequence[int]) -> list[str]:
    rankings = list(each["kinds"][0]["hits"])
    rows = [
        [
            kind["kind"],
            f"{kind['question_count']:,}",
            *(" / ".join(f"{value:.3f}" for value in kind["hits"][ranking]) for ranking in rankings),
        ]
        for kind in each["kinds"]
        if kind["hits"]
    ]
    at = "/".join(map(str, ranks))
    return markdown_table(["kind", "questions", *(f"{ranking} @{at}" for ranking in rankings)], rows)


def _refusals(each: ResultsJson) -> list[str]:
    rows = []
    for kind in each["kinds"]:
        outcomes = kind["outcomes"] or {}
        shares = (kind["refused"], outcomes.get("weak"), outcomes.get("found"), kind["strict_refused"])
        rows.append([kind["kind"], f"{kind['question_count']:,}", *map(optional_share, shares)])
    return markdown_table(["kind", "questions", "refused", "weak", "found", "refused, strict mode"], rows)


def _plot(sets: Sequence[ResultsJson]) -> Bars:
    groups = {
        each["name"]: [Bar(ranking, hits[0]) for ranking, hits in each["kinds"][0]["hits"].items()]
        for each in sets
    }
    return Bars("hit@1 by set", groups, most=1.0)


def overview_rows(found: ResultsJson) -> Iterator[list[str]]:
    """Rows of the overview of all sets, over all answerable questions of a set."""
    for each in found["sets"]:
        kinds = {kind["kind"]: kind for kind in each["kinds"]}
        foreign = kinds.get("foreign")
        own = kinds["all"]
        hits = [f"{own['hits'][ranking][0]:.3f}" for ranking in ("Mnemic", "cosine", "BM25")]
        yield [
            each["name"],
            f"{own['question_count']:,}",
            "hit@1",
            *hits,
            optional_share(own["refused"]),
            optional_share(foreign["refused"] if foreign else None),
            *calibration_cells(each),
        ]
