"""The section of docs/benchmarks.md about the dashboard."""

from collections.abc import Iterator
from pathlib import Path

from bench.markdown import ResultsJson, markdown_table


def describe_dashboard(found: ResultsJson, plots: Path) -> Iterator[str]:
    """One row for each page, then the targets that were missed."""
    plan = found["plan"]
    requests = f"{plan['memories']:,} memories, {plan['requests']} requests of each page"
    yield f"{requests}; {found['script_bytes']:,} bytes of script."
    yield ""
    rows = [
        [
            f"`{page['address']}`",
            f"{page['server_cpu_ms']:.1f} + {page['database_cpu_ms']:.1f}",
            f"{page['latency']['p50_ms']:.1f} / {page['latency']['p95_ms']:.1f}",
            f"{page['page_bytes']:,}",
            f"{page['sent_bytes']:,}",
            _paint(found["paints"].get(page["address"].partition("?")[0])),
        ]
        for page in found["pages"]
    ]
    columns = ["page", "CPU of server + database, ms", "p50 / p95, ms", "bytes", "compressed", "first paint"]
    yield from markdown_table(columns, rows)
    missed = [line for line in found["report"] if line["met"] is False]
    yield ""
    if missed:
        yield (
            "Missed: "
            + "; ".join(f"{each['what']} {each['measured']} ({each['target']})" for each in missed)
            + "."
        )
    else:
        yield "All targets are met: CPU ≤ 40 ms, p95 ≤ 50 ms, page < 60 kB, script < 15 kB, paint ≤ 1.2 ×."


def _paint(paint: ResultsJson | None) -> str:
    return f"{paint['page_ms']:.0f} ms, {paint['page_ms'] / paint['static_ms']:.2f} × static" if paint else ""
