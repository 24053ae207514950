"""The page of results is written from the results, and only where it says so."""

import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from bench.calibration import CalibrationErrors
from bench.markdown import markdown_table
from bench.mind_conflicts import ConflictResult
from bench.mind_report import MindResults
from bench.mind_report import report_lines as mind_lines
from bench.plots import Bar, Bars, Points, Series
from bench.quality_metrics import Averages
from bench.quality_report import MNEMIC, Quality
from bench.quality_report import report_lines as quality_lines
from bench.refusal import Refusal
from bench.report import ReportLine, as_json
from bench.results_page import NOT_MEASURED, PAGE, replaced, write_page
from bench.speed_conversations import OTHER_CODE, THIS_CODE, ConversationSpeed, RecallCost
from bench.speed_measure import Latency, Readers
from bench.speed_neighbours import Neighbours
from bench.speed_report import Results
from bench.speed_report import report_lines as speed_lines
from bench.speed_side_by_side import SearchSpeed
from bench.speed_sizes import SizeResult
from bench.stores_metrics import RANKS, KindResult, StoreSetResult
from bench.stores_report import report_lines as stores_lines

FAST = Latency(10, 1.0, 2.0, 3.0)
SLOW = Latency(10, 20.0, 40.0, 60.0)


def quality(recall: float, *, own_refused: float = 0.01) -> Quality:
    values = {f"R@{k}": recall for k in (5, 10, 25, 50)}
    return Quality(
        dataset="LoCoMo",
        owner_count=2,
        memory_count=1_234,
        rankings={
            MNEMIC: [Averages("all", 7, values), Averages("temporal", 7, values)],
            "BM25": [Averages("all", 7, dict.fromkeys(values, 0.25))],
        },
        recall_p50_ms=1.0,
        recall_p95_ms=2.0,
        refusal=Refusal(
            "LoCoMo", 7, 7, 0, 0.99, own_refused, 0.95, None, None, CalibrationErrors(0.05, 0.06)
        ),
    )


def stores() -> StoreSetResult:
    hits = {MNEMIC: [0.6] * 4, "cosine": [0.5] * 4, "BM25": [0.4] * 4}
    own = KindResult("all", 5, hits, 0.02, None, None)
    foreign = KindResult("foreign", 3, {}, 0.9, {"found": 0.0, "weak": 0.1, "refused": 0.9}, None)
    return StoreSetResult(
        "facts", 2, 100, [own, replace(own, kind="facts"), foreign], CalibrationErrors(0.07, 0.09), 1.0, 2.0
    )


def size(memory_count: int, whole: Latency, *, ann_recall: float | None = 0.97) -> SizeResult:
    readers = Readers(1, whole, {"embed": FAST}, 50.0)
    return SizeResult(memory_count, 4_000.0, 3.0, readers, readers, [readers], ann_recall)


def conversations(code: str, cpu_ms: float) -> ConversationSpeed:
    cost = RecallCost(FAST, cpu_ms, 1.0)
    return ConversationSpeed(code, 10_000, 30.0, {10: cost, 50: cost})


def speed(**changed: Any) -> Results:
    beside = [
        SearchSpeed("Mnemic", "all of it", (), {10: FAST, 50: FAST}),
        SearchSpeed("Other", "vectors alone", ("other==1",), {10: SLOW, 50: SLOW}),
    ]
    parts: dict[str, Any] = {
        "sizes": [size(10_000, FAST), size(1_000_000, Latency(10, 3.0, 7.0, 9.0))],
        "relations": [],
        "neighbours": Neighbours(50, 1_000, 50, FAST, FAST),
        "side_by_side": beside,
        "conversations": [conversations(THIS_CODE, 4.0), conversations(OTHER_CODE, 12.0)],
    }
    return Results(**parts | changed)


def outcomes(lines: list[ReportLine]) -> list[bool | None]:
    return [line.met for line in lines]


def test_quality_that_reaches_its_targets_is_met_and_what_does_not_is_missed() -> None:
    assert outcomes(quality_lines([quality(0.95)])) == [*[True] * 5, None, *[True] * 3]
    missed = [line for line in quality_lines([quality(0.88, own_refused=0.04)]) if line.met is False]
    assert [line.what for line in missed] == [
        "LoCoMo, R@25, 7 questions",
        "LoCoMo, R@50, 7 questions",
        "LoCoMo, own questions refused",
    ]


def test_speed_that_reaches_its_targets_is_met() -> None:
    lines = speed_lines(speed())
    assert [line.met for line in lines if line.met is not None] == [True] * 10


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        ({"sizes": [size(10_000, SLOW)]}, "recall, 10,000 memories"),
        ({"sizes": [size(10_000, FAST, ann_recall=0.9)]}, "recall@10 of the vector index"),
        ({"sizes": [size(10_000, FAST), size(1_000_000, SLOW)]}, "growth"),
        ({"neighbours": Neighbours(50, 1_000, 50, FAST, SLOW)}, "a tenant of 1,000"),
        (
            {"conversations": [conversations(THIS_CODE, 8.0), conversations(OTHER_CODE, 9.0)]},
            "recall, 10,000 turns of real conversations, 10 hits, CPU against the other code",
        ),
    ],
)
def test_speed_that_falls_short_is_missed(changed: dict[str, Any], missed: str) -> None:
    (line,) = [line for line in speed_lines(speed(**changed)) if line.met is False]
    assert line.what.startswith(missed)


def test_a_faster_competitor_is_a_miss_and_one_that_failed_is_none() -> None:
    ours = SearchSpeed("Mnemic", "", (), {10: SLOW, 50: SLOW})
    faster = SearchSpeed("Other", "", (), {10: FAST, 50: FAST})
    failed = SearchSpeed("Broken", "", (), problem="cannot be installed")
    lines = speed_lines(
        speed(sizes=[], neighbours=None, conversations=[], side_by_side=[ours, faster, failed])
    )
    assert outcomes(lines) == [False, False, None, None]


def test_a_store_that_finds_less_than_asked_for_is_told_so() -> None:
    ours = SearchSpeed("Mnemic", "", (), {10: SLOW, 50: SLOW}, {10: 10.0, 50: 50.0})
    other = SearchSpeed("Other", "", (), {10: FAST, 50: FAST}, {10: 10.0, 50: 40.0})
    ten, fifty = speed_lines(speed(sizes=[], neighbours=None, conversations=[], side_by_side=[ours, other]))
    assert ten.measured == "0.05 times as fast"
    assert fifty.measured == "0.05 times as fast (Other finds 40 of 50)"


def test_a_size_without_a_target_is_shown_without_one() -> None:
    lines = speed_lines(
        speed(sizes=[size(2_000, SLOW, ann_recall=None)], neighbours=None, conversations=[], side_by_side=[])
    )
    assert outcomes(lines) == [None]


def test_only_what_stands_between_the_marks_is_replaced() -> None:
    page = "before\n<!-- quality -->\nold\n<!-- /quality -->\nafter\n"
    assert replaced(page, "quality", "new") == "before\n<!-- quality -->\nnew\n<!-- /quality -->\nafter\n"


def test_the_page_in_the_docs_has_all_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text("utf-8"), "utf-8")
    write_page(page, tmp_path / "no results")
    assert page.read_text("utf-8").count(NOT_MEASURED) == 7


def test_numbers_and_plots_come_from_the_results(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    sections = ("overview", "quality", "stores", "mind", "qa", "speed", "dashboard")
    page.write_text("".join(f"<!-- {each} -->\n<!-- /{each} -->\n" for each in sections), "utf-8")
    qualities, results, sets = [quality(0.875)], speed(), [stores()]
    (tmp_path / "stores.json").write_text(
        as_json({"ranks": RANKS, "sets": [asdict(each) for each in sets]}, stores_lines(sets)), "utf-8"
    )
    (tmp_path / "quality.json").write_text(
        as_json({"sets": [asdict(each) for each in qualities]}, quality_lines(qualities)), "utf-8"
    )
    (tmp_path / "speed.json").write_text(as_json({"results": asdict(results)}, speed_lines(results)), "utf-8")
    answered = {
        "settings": {"llm": "a:b", "judge": "c:d"},
        "cost": {"usd": 1.5, "input_tokens": 2_000, "output_tokens": 30},
        "scores": [{"set": "locomo", "category": "all", "question_count": 4, "score": 0.75}],
    }
    (tmp_path / "qa.json").write_text(as_json(answered, []), "utf-8")
    changed = MindResults(
        conflicts=[ConflictResult("sh_6k", 455, 100, True, 0.9, 0.1, 0.75, 1, 1, 0, 160, 0)]
    )
    (tmp_path / "mind.json").write_text(as_json(changed.measured(), mind_lines(changed)), "utf-8")
    write_page(page, tmp_path)
    written = page.read_text("utf-8")
    assert "| Mnemic | 0.875 | 0.875 | 0.875 | 0.875 |" in written
    assert "| LoCoMo, R@5, 7 questions | 0.8750 | ≥ 0.72 | met |" in written
    assert "| LoCoMo, R@25, 7 questions | 0.8750 | ≥ 0.89 | **missed** |" in written
    assert "| whole call | 1.0 / 2.0 / 3.0 | 1.0 / 2.0 / 3.0 |" in written
    assert "| this code | 10 | 1.0 / 2.0 / 3.0 | 4.0 | 1.0 |" in written
    assert "| Other | 20.0 / 40.0 / 60.0 | 20.0 / 40.0 / 60.0 | other==1 | vectors alone |" in written
    assert "| LoCoMo | 7 | R@10 | 0.875 | – | 0.250 | 1.0% | 95.0% | 0.050 | 0.060 |" in written
    assert "Answered by a:b, judged by c:d; 1.50 USD, 2,000 input and 30 output tokens." in written
    assert "| locomo | all | 4 | 0.750 |" in written
    assert "| facts | 5 | hit@1 | 0.600 | 0.500 | 0.400 | 2.0% | 90.0% | 0.070 | 0.090 |" in written
    assert "| facts, facts, hit@1, 5 questions | 0.600 | ≥ 0.60 | met |" in written
    assert "| foreign | 3 | 90.0% | 10.0% | 0.0% | – |" in written
    assert "| conflicts sh_6k, current value first | 0.750 | ≥ 0.95 | **missed** |" in written
    assert "| sh_6k | 455 | 100 | 0.750 | 1.000 | 1.000 | 0.000 | 0.900 | 0.100 | 160 |" in written
    for plot in ("quality-locomo.svg", "speed-sizes.svg", "stores.svg"):
        assert f"(plots/{plot})" in written
        ElementTree.parse(tmp_path / "plots" / plot)


def test_a_table_survives_bars_in_its_cells() -> None:
    assert markdown_table(["a"], [["x|y"]]) == ["| a |", "| --- |", "| x&#124;y |"]


def test_bars_are_as_high_as_their_values() -> None:
    picture = ElementTree.fromstring(Bars("t", {"g": [Bar("a", 1.0), Bar("b & c", 0.5)]}, most=1.0).svg())
    bars = [each for each in picture.iter("{http://www.w3.org/2000/svg}rect") if len(each)]
    high, half = (float(each.attrib["height"]) for each in bars)
    assert half == pytest.approx(high / 2, abs=0.1)


def test_points_stand_at_equal_distances_for_equal_factors() -> None:
    points = [(10_000, 1.0), (100_000, 2.0), (1_000_000, 3.0)]
    picture = ElementTree.fromstring(Points("t", [Series("p95", points)]).svg())
    across = [float(each.attrib["cx"]) for each in picture.iter("{http://www.w3.org/2000/svg}circle")]
    assert across[1] - across[0] == pytest.approx(across[2] - across[1], abs=0.2)
