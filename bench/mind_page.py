"""The section of docs/benchmarks.md about facts that change and statements."""

from collections.abc import Iterator
from pathlib import Path

from bench.markdown import ResultsJson, markdown_table, report_table

COLUMNS = ("first", "among_five", "among_ten", "stale", "first_at_once", "stale_at_once")


def describe_mind(found: ResultsJson, plots: Path) -> Iterator[str]:
    """The targets, then the sets of conflicts."""
    yield from report_table(found)
    if found["conflicts"]:
        yield from ("", *_conflicts(found))


def _conflicts(found: ResultsJson) -> list[str]:
    rows = [
        [
            each["name"],
            f"{each['fact_count']:,}",
            f"{each['question_count']:,}",
            *(f"{each[column]:.3f}" for column in COLUMNS),
            f"{each['outdated_count']:,}",
        ]
        for each in found["conflicts"]
    ]
    hits = ("first", "@5", "@10", "stale @5", "at once: first", "at once: stale @5")
    return markdown_table(["set", "facts", "questions", *hits, "outdated"], rows)
