"""The benchmark of the dashboard compares every page with its targets."""

import json
from dataclasses import asdict
from pathlib import Path

from bench.dashboard import PageResult, Results, report_lines
from bench.dashboard_page import describe_dashboard
from bench.dashboard_paint import Paint
from bench.report import as_json
from bench.speed_measure import Latency


def page(address: str, cpu_ms: float) -> PageResult:
    return PageResult(address, cpu_ms / 2, cpu_ms / 2, Latency(40, 20.0, 30.0, 40.0), 20_000, 5_000)


def test_slow_and_broken_pages_miss_their_targets() -> None:
    results = Results(
        [page("/ui/fast", 20.0), page("/ui/slow", 60.0)],
        ["/ui/broken"],
        9_000,
        {"/ui/fast": Paint(90.0, 80.0)},
    )
    lines = report_lines(results)
    assert [line.what for line in lines if line.met is False] == ["/ui/slow: CPU", "/ui/broken"]
    written = json.loads(as_json({"plan": {"memories": 10, "requests": 2}, **asdict(results)}, lines))
    described = "\n".join(describe_dashboard(written, Path()))
    assert "| `/ui/fast` | 10.0 + 10.0 |" in described
    assert "1.12 × static" in described
    assert "Missed: /ui/slow: CPU 60.0 ms (≤ 40 ms); /ui/broken failed" in described
