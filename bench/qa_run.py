"""Runs bench-qa: retains, recalls, answers and judges, with a bounded number of questions at a time.

One task retains the owners one after the other and recalls the context of each question into a bounded queue;
workers take questions from it, call the models, and write results. When the budget is reached, or after many
failures in a row, nothing more is sent; what was in progress ends.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rich.console import Console

from bench.datasets import Owner, Turn
from bench.qa_data import QaOwner, QaQuestion, QaSet
from bench.qa_judging import ANSWERING_TASK, JUDGING_TASKS, answer_question, judge_answer
from bench.qa_results import Answered, Failed, ResultsFile
from bench.qa_spending import (
    CHARACTERS_PER_TOKEN,
    BudgetReachedError,
    Prices,
    Spending,
    count_for_question,
)
from mnemic import AsyncMemory
from mnemic.errors import LanguageModelError
from mnemic.models.language import INPUT_MAX_CHARACTERS, LanguageModel

RECALL_LIMIT = 50
"""Most memories in a context; `max_tokens` usually allows fewer."""
FAILURES_MAX = 5
"""Failures in a row after which the run stops: the provider is down, or the key is wrong."""
ORACLE_MAX_CHARACTERS = INPUT_MAX_CHARACTERS * 9 // 10
"""Longest whole history; of a longer one, recall chooses."""

# For the estimate.
ANSWER_TOKENS = 150
JUDGEMENT_TOKENS = 40


@dataclass(frozen=True)
class _Job:
    """A question with its context."""

    set_name: str
    question: QaQuestion
    context: str
    asked_at: str


@dataclass
class QaRun:
    """One run. `stopped` says why it ended early, else empty; `failed_count` questions failed."""

    memory: AsyncMemory
    answering: LanguageModel
    judging: LanguageModel
    results: ResultsFile
    progress: Console
    concurrency: int
    max_tokens: int
    stopped: str = ""
    failed_count: int = 0
    _failures_in_a_row: int = field(default=0, repr=False)

    async def run(self, sets: Sequence[QaSet]) -> None:
        """Ask everything that the results file does not have yet."""
        jobs: asyncio.Queue[_Job | None] = asyncio.Queue(self.concurrency)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._prepare(sets, jobs))
            for _ in range(self.concurrency):
                tasks.create_task(self._work(jobs))

    async def _prepare(self, sets: Sequence[QaSet], jobs: "asyncio.Queue[_Job | None]") -> None:
        for each in sets:
            for owner in each.owners:
                remaining = unanswered(owner, self.results)
                if remaining and not self.stopped:
                    self.progress.print(f"{each.name}: {owner.owner.name}, {len(remaining):,} questions …")
                    await self._prepare_owner(each, owner.owner, remaining, jobs)
        for _ in range(self.concurrency):
            await jobs.put(None)

    async def _prepare_owner(
        self,
        qa_set: QaSet,
        owner: Owner,
        questions: Sequence[QaQuestion],
        jobs: "asyncio.Queue[_Job | None]",
    ) -> None:
        history = whole_history(owner) if qa_set.is_oracle else ""
        is_recalled = not history or len(history) > ORACLE_MAX_CHARACTERS
        name = f"{qa_set.name} {owner.name}"
        if is_recalled:
            await self.memory.retain_many((turn.item() for turn in owner.turns), owner=name)
        asked_at = asked_at_of(owner)
        for question in questions:
            context = history
            if is_recalled:
                found = await self.memory.recall(
                    question.text, owner=name, limit=RECALL_LIMIT, max_tokens=self.max_tokens, at=asked_at
                )
                context = found.text
            when = f"{asked_at:%A, %d %B %Y %H:%M}" if asked_at else "unknown"
            await jobs.put(_Job(qa_set.name, question, context, when))

    async def _work(self, jobs: "asyncio.Queue[_Job | None]") -> None:
        while (job := await jobs.get()) is not None:
            # After a stop the queue is emptied, so that the task that fills it ends.
            if not self.stopped:
                await self._answer(job)

    async def _answer(self, job: _Job) -> None:
        spending = count_for_question()
        try:
            response = await answer_question(self.answering, job.question, job.context, job.asked_at)
            score = await judge_answer(self.judging, job.question, response)
        except BudgetReachedError as error:
            self.stopped = str(error)
            if spending.usd:
                self.results.add(Failed(job.question.key, "the budget was reached", spending.usd))
        except LanguageModelError as error:
            self._fail(job, str(error), spending)
        else:
            self._failures_in_a_row = 0
            self.results.add(
                Answered(
                    job.question.key,
                    job.set_name,
                    job.question.category,
                    score,
                    response,
                    spending.input_tokens,
                    spending.output_tokens,
                    spending.usd,
                )
            )

    def _fail(self, job: _Job, failure: str, spending: Spending) -> None:
        self.results.add(Failed(job.question.key, failure, spending.usd))
        self.progress.print(f"{job.question.key}: {failure}", markup=False)
        self.failed_count += 1
        self._failures_in_a_row += 1
        if self._failures_in_a_row >= FAILURES_MAX:
            self.stopped = f"{FAILURES_MAX} questions failed in a row; the last one: {failure}"


def asked_at_of(owner: Owner) -> datetime | None:
    """When an owner's questions are asked: with the first question, else after the last turn."""
    return owner.questions[0].at if owner.questions else owner.turns[-1].at


def unanswered(owner: QaOwner, results: ResultsFile) -> list[QaQuestion]:
    """The questions that the results file does not have yet."""
    return [question for question in owner.questions if question.key not in results.answered]


def whole_history(owner: Owner) -> str:
    """All turns, with their time and speaker."""
    return "\n".join(_line(turn) for turn in owner.turns)


def _line(turn: Turn) -> str:
    when = f"[{turn.at:%Y-%m-%d %H:%M}] " if turn.at else ""
    return f"{when}{turn.name or turn.role or 'someone'}: {turn.content}"


def estimated_usd(
    sets: Sequence[QaSet], results: ResultsFile, *, max_tokens: int, answering: Prices, judging: Prices
) -> tuple[int, float]:
    """How many questions remain, and about what they will cost."""
    count, usd = 0, 0.0
    for each in sets:
        for owner in each.owners:
            history = len(whole_history(owner.owner)) if each.is_oracle else 0
            for question in unanswered(owner, results):
                context = history // CHARACTERS_PER_TOKEN if history else max_tokens
                asked = len(ANSWERING_TASK + question.text) // CHARACTERS_PER_TOKEN
                judged = len(JUDGING_TASKS[question.rule] + question.text + question.reference)
                usd += answering.usd(context + asked, ANSWER_TOKENS)
                usd += judging.usd(judged // CHARACTERS_PER_TOKEN + ANSWER_TOKENS, JUDGEMENT_TOKENS)
                count += 1
    return count, usd
