"""`mnemic metrics`: calls over time."""

from mnemic import Memory
from tests.cli.conftest import Run


def test_metrics_shows_the_hours_that_have_calls(mnemic: Run, memory: Memory) -> None:
    memory.retain("Alice plays the cello.")
    memory.recall("cello")
    memory.metrics.series()  # Writes the counts of this process.
    totals = mnemic("metrics", "--json").json["totals"]
    assert (totals["retain"]["memory_count"], totals["recall"]["call_count"]) == (1, 1)
    shown = mnemic("metrics", "--hours", "720").out
    assert "p95 ms" in shown
    assert (
        mnemic("metrics", "--since", "2026-01-01", "--until", "2026-01-02").out == "No calls in that time.\n"
    )


def test_metrics_refuses_a_window_without_sense(mnemic: Run) -> None:
    refused = mnemic("metrics", "--hours", "3", "--since", "2026-01-01")
    assert refused.code == 1
    assert "Give hours or since, not both." in refused.err
