"""Question answering with a scripted model on tiny made-up sets: resuming, cost and limits."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from rich.console import Console

from bench import qa
from bench.qa_data import QA_SETS, QaOwner, QaSet, read_qa_set
from bench.qa_report import scores_of, show
from bench.qa_results import ResultsFile, SettingsChangedError, UnreadableResultsError
from bench.qa_run import FAILURES_MAX, QaRun, estimated_usd, whole_history
from bench.qa_spending import (
    Budget,
    BudgetReachedError,
    GivenPrices,
    MeteredModel,
    Spending,
    UnknownPriceError,
    find_prices,
)
from mnemic import AsyncMemory
from mnemic.models.language import LanguageModel, open_language_model
from mnemic.models.testing import HashedWords
from tests.bench.test_datasets import CHAT, DIALOGUE, HAYSTACK
from tests.running_folder import running
from tests.scripted_language import model_by_field, opened

PRICES = GivenPrices(10.0, 10.0)
SETTINGS = {"llm": "function:scripted", "judge": "function:scripted", "max_tokens": 500}
KITES = HAYSTACK | {"answer": 2}


@pytest.fixture(scope="module")
def qa_folder(memory_dir: Path) -> Iterator[Path]:
    yield from running(memory_dir / "bench-qa")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    asked = [each | {"answer": "a red kite"} for each in DIALOGUE["qa"][:3]]
    trap = {"question": "Who sank?", "evidence": [], "category": 5, "adversarial_answer": "Bo"}
    beam = [
        CHAT["questions"][0] | {"answer": "Nothing was said about colours."},
        CHAT["questions"][1] | {"answer": "It."},
        {"type": "summarization", "question": "Summarise.", "answer": None, "evidence": [0]},
        {"type": "event_ordering", "question": "Order?", "answer": "", "rubric": ["a", "b"], "evidence": []},
    ]
    files = {
        "longmemeval_oracle": [KITES],
        "longmemeval_s": [KITES, KITES | {"question_id": "q2_abs"}],
        "locomo": [DIALOGUE | {"qa": [*asked, trap]}],
        "beam_100k": [CHAT | {"questions": beam}],
    }
    for name, content in files.items():
        (folder / f"{name}_tiny.json").write_text(json.dumps(content), "utf-8")
    return folder


class RecordingBudget(Budget):
    """Remembers the largest reservation."""

    most_reserved_usd = 0.0

    def reserve(self, usd: float) -> None:
        super().reserve(usd)
        self.most_reserved_usd = max(self.most_reserved_usd, usd)


@dataclass
class Asking:
    """Runs on one results file with a model."""

    memory: AsyncMemory
    path: Path
    model: FunctionModel
    max_usd: float = 100.0
    concurrency: int = 2

    async def run(self, *sets: QaSet) -> tuple[QaRun, "RecordingBudget"]:
        results = ResultsFile(self.path, SETTINGS)
        budget = RecordingBudget(self.max_usd, Spending(usd=results.spent_usd))
        model = opened_metered(self.model, budget)
        run = QaRun(
            *(self.memory, model, model, results, Console(quiet=True)),
            concurrency=self.concurrency,
            max_tokens=500,
        )
        await run.run(sets)
        return run, budget


def opened_metered(model: FunctionModel, budget: Budget) -> LanguageModel:
    metered = open_language_model(MeteredModel(model, PRICES, budget))
    assert metered is not None
    return metered


@pytest.fixture
async def asking(qa_folder: Path, tmp_path: Path) -> AsyncIterator[Asking]:
    async with AsyncMemory(data_dir=qa_folder, embedder=HashedWords()) as memory:
        yield Asking(memory, tmp_path / "results.jsonl", always_right())


def always_right() -> FunctionModel:
    return model_by_field(answer={"answer": "It was."}, is_right={"is_right": True}, score={"score": "0.5"})


def never_called() -> FunctionModel:
    return model_by_field(answer=AssertionError("called"))


def of(name: str, data: Path) -> QaSet:
    return read_qa_set(name, data)


def test_every_kind_of_question_has_its_rule_and_reference(data: Path) -> None:
    found = {name: of(name, data) for name in QA_SETS}
    assert [each.questions[0].rule for each in found["longmemeval-s"].owners] == ["contains", "abstention"]
    assert found["longmemeval-s"].owners[0].questions[0].reference == "2"
    locomo = found["locomo"].owners[0].questions
    assert [each.rule for each in locomo] == ["generous"] * 3 + ["abstention"]
    assert "Bo" in locomo[3].reference
    beam = found["beam"].owners[0].questions
    assert [(each.category, each.rule) for each in beam] == [
        ("abstention", "abstention"),
        ("summarization", "graded"),
        ("event_ordering", "graded"),
    ]
    assert beam[2].reference == "- a\n- b"
    assert found["longmemeval-oracle"].is_oracle
    keys = [question.key for each in found.values() for owner in each.owners for question in owner.questions]
    assert len(keys) == len(set(keys))


async def test_all_sets_are_answered_judged_and_counted(asking: Asking, data: Path) -> None:
    run, budget = await asking.run(*(of(name, data) for name in QA_SETS))
    assert not run.stopped
    answered = run.results.answered
    assert len(answered) == 10
    assert sum(each.usd for each in answered.values()) == pytest.approx(budget.spent.usd)
    assert budget.spent.usd > 0
    scores = {(each.set, each.category): each.score for each in scores_of(list(answered.values()))}
    assert scores["locomo", "all"] == scores["locomo", "all but adversarial"] == 1.0
    assert scores["beam", "event_ordering"] == 0.5
    assert scores["beam", "all"] == pytest.approx(2 / 3)
    show(Console(quiet=True), scores_of(list(answered.values())))


async def test_a_second_run_continues_where_the_first_one_stopped(asking: Asking, data: Path) -> None:
    await asking.run(of("locomo", data))
    # A crash while the last result was written.
    lines = asking.path.read_text("utf-8").splitlines(keepends=True)
    asking.path.write_text("".join(lines[:-1]) + lines[-1][:20], "utf-8")
    run, _ = await asking.run(of("locomo", data))
    assert len(run.results.answered) == 4
    assert len(asking.path.read_text("utf-8").splitlines()) == len(lines)
    asking.model = never_called()
    again, budget = await asking.run(of("locomo", data))
    assert not again.stopped
    assert budget.spent.usd == pytest.approx(run.results.spent_usd)


def repeated(qa_set: QaSet, count: int) -> QaSet:
    """The first question of the first owner, `count` times."""
    owner, first = qa_set.owners[0].owner, qa_set.owners[0].questions[0]
    questions = tuple(replace(first, key=str(place)) for place in range(count))
    return replace(qa_set, owners=(QaOwner(owner, questions),))


async def test_spending_stops_below_the_limit_and_a_higher_limit_continues(
    asking: Asking, data: Path
) -> None:
    one, four = repeated(of("locomo", data), 1), repeated(of("locomo", data), 4)
    asking.concurrency = 1
    first, budget = await replace(asking, path=asking.path.with_name("first")).run(one)
    # After the second question, another request could exceed the limit.
    asking.max_usd = budget.most_reserved_usd + 1.5 * first.results.spent_usd
    run, budget = await asking.run(four)
    assert "--max-usd" in run.stopped
    assert budget.spent.usd <= asking.max_usd
    assert len(run.results.answered) in (1, 2)
    asking.max_usd = 100.0
    run, _ = await asking.run(four)
    assert not run.stopped
    assert len(run.results.answered) == 4


async def test_a_provider_that_fails_stops_the_run_and_is_asked_again_later(
    asking: Asking, data: Path
) -> None:
    asking.model = model_by_field(answer=RuntimeError("no such key"))
    asking.concurrency = 1
    many = repeated(of("locomo", data), FAILURES_MAX + 1)
    run, _ = await asking.run(many)
    assert "failed in a row" in run.stopped
    assert run.failed_count == FAILURES_MAX
    assert not run.results.answered
    asking.model = always_right()
    run, _ = await asking.run(many)
    assert len(run.results.answered) == FAILURES_MAX + 1


async def test_no_more_questions_are_in_progress_than_allowed(asking: Asking, data: Path) -> None:
    now, most = 0, 0

    async def reply(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0)
        now -= 1
        name = next(iter(info.output_tools[0].parameters_json_schema["properties"]))
        value = {"answer": "x", "is_right": False}[name]
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {name: value})])

    asking.model, asking.concurrency = FunctionModel(reply), 2
    run, _ = await asking.run(of("locomo", data))
    assert most <= 2
    assert {each.score for each in run.results.answered.values()} == {0.0}


def test_the_oracle_sees_the_whole_history(data: Path) -> None:
    owner = of("longmemeval-oracle", data).owners[0].owner
    assert whole_history(owner).splitlines()[1] == "[2023-05-21 10:44] user: Two kites"


def test_the_estimate_counts_what_remains(tmp_path: Path, data: Path) -> None:
    sets, results = [of("locomo", data)], ResultsFile(tmp_path / "results.jsonl", SETTINGS)
    count, usd = estimated_usd(sets, results, max_tokens=1_000, answering=PRICES, judging=GivenPrices(0, 0))
    assert count == 4
    assert 4 * PRICES.usd(1_000, 0) < usd < 4 * PRICES.usd(2_000, 1_000)


def test_a_results_file_belongs_to_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    ResultsFile(path, SETTINGS)
    with pytest.raises(SettingsChangedError, match="max_tokens=500"):
        ResultsFile(path, SETTINGS | {"max_tokens": 9})
    path.write_text("no result\n", "utf-8")
    with pytest.raises(UnreadableResultsError, match="line 1"):
        ResultsFile(path, SETTINGS)


def test_prices_come_from_the_list_or_from_the_options() -> None:
    assert find_prices("openai:gpt-4o", None, "--price").usd(1_000_000, 0) > 0
    assert find_prices("any:model", PRICES, "--price") is PRICES
    with pytest.raises(UnknownPriceError, match="--judge-price"):
        find_prices("nobody:nothing", None, "--judge-price")


def test_a_budget_counts_what_is_in_progress() -> None:
    budget = Budget(1.0)
    budget.reserve(0.6)
    with pytest.raises(BudgetReachedError):
        budget.reserve(0.6)
    budget.settle(0.6, Spending(10, 1, 0.1))
    budget.reserve(0.6)
    assert budget.spent.usd == 0.1


def test_nothing_is_sent_without_a_confirmation(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(qa, "metered", lambda *_: opened(never_called()))
    options = [str(data), "--llm", "nobody:nothing", "--results", str(tmp_path / "results.jsonl")]
    monkeypatch.setattr(sys, "argv", ["qa", *options])
    assert qa.main() == 2
    assert "--price" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["qa", *options, "--price", "1,2"])
    assert qa.main() == 2
    told = capsys.readouterr().err
    assert "10 remain" in told
    assert "Nothing was sent" in told
