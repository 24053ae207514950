"""`mnemic bench`: a quick measurement that leaves nothing behind."""

from pathlib import Path

import pytest

from mnemic.cli import bench
from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench, "SINGLES", 5)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_it_measures_and_leaves_nothing_behind(mnemic: Run, tmp_path: Path) -> None:
    measured = mnemic("bench", "--memories", 20, "--queries", 10, "--json").json
    assert [(each["what"], each["count"]) for each in measured] == [
        ("retain", 5),
        ("retain_many", 20),
        ("recall", 10),
    ]
    for each in (measured[0], measured[2]):
        assert 0 < each["p50_ms"] <= each["p95_ms"] <= each["p99_ms"]
    assert all(each["per_second"] > 0 for each in measured)
    assert list(tmp_path.glob("mnemic-*")) == []


def test_people_see_a_table(mnemic: Run) -> None:
    ended = mnemic("bench", "--memories", 20, "--queries", 10)
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == ["call", "retain", "retain_many", "recall"]


def test_the_facts_are_the_same_everywhere_and_all_different() -> None:
    first, second = ([text for text, _ in zip(bench._facts(), range(500), strict=False)] for _ in range(2))
    assert first == second
    assert len(set(first)) == 500
