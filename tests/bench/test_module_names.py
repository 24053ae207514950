"""Benchmarks run as scripts too, which puts their folder first on the import path."""

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"


def test_no_benchmark_shadows_a_module_of_the_standard_library() -> None:
    assert {path.stem for path in BENCH.glob("*.py")}.isdisjoint(sys.stdlib_module_names)
