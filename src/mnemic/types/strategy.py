"""Strategies: how an owner's agents solve a kind of task, and how often that worked."""

from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from typing import Any
from uuid import UUID

CONFIDENCE_Z = 1.96
"""Standard deviations of a normal distribution within which 95 % of its values lie."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """A strategy. `strategy_id` is the id of the memory that holds its text.

    `success_rate` is the lower bound of the rate of success (Wilson score, 95 %): 0 without uses, and the
    nearer to the true rate the more uses there are. `is_warning` says that it failed more often than it
    succeeded: what not to do. `failure_notes` are the notes of its latest failures, newest first. `is_mined`
    marks strategies that Mnemic found in tool calls. `score`, from 0 to 1, says how well it fits the task
    that was searched for.
    """

    strategy_id: UUID
    owner: str
    channel: str
    task: str
    content: str
    tools: tuple[str, ...]
    is_mined: bool
    success_count: int
    failure_count: int
    success_rate: float
    is_warning: bool
    failure_notes: tuple[str, ...]
    last_used_at: datetime | None
    created_at: datetime
    score: float | None = None

    @classmethod
    def from_row(cls, row: dict[str, Any], score: float | None = None) -> "Strategy":
        """The strategy in a row of `state.strategy_records`."""
        fields = {name: value for name, value in row.items() if name != "tenant_id"}
        succeeded, failed = fields["success_count"], fields["failure_count"]
        fields["content"] = _without_task(fields["content"], fields["task"])
        fields["tools"], fields["failure_notes"] = tuple(fields["tools"]), tuple(fields["failure_notes"])
        rate = success_lower_bound(succeeded, failed)
        return cls(**fields, success_rate=rate, is_warning=failed > succeeded, score=score)


@dataclass(frozen=True, slots=True)
class StrategyUse:
    """One use of a strategy, and its outcome."""

    use_id: UUID
    strategy_id: UUID
    conversation: str | None
    succeeded: bool
    note: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ToolStatistics:
    """How often a tool was called, with what success, and how long it took.

    `success_rate` is the share of calls that succeeded, `success_lower_bound` the lower bound of the true
    rate (Wilson score, 95 %). `mean_duration_ms` is the mean of the calls whose duration is known.
    """

    tool: str
    call_count: int
    success_count: int
    success_rate: float
    success_lower_bound: float
    mean_duration_ms: float | None
    last_used_at: datetime


def success_lower_bound(success_count: int, failure_count: int) -> float:
    """The lower bound of the rate of success by the Wilson score interval; 0 without uses."""
    count = success_count + failure_count
    if count == 0:
        return 0.0
    rate, squared = success_count / count, CONFIDENCE_Z**2
    spread = CONFIDENCE_Z * sqrt(rate * (1 - rate) / count + squared / (4 * count**2))
    return round(max((rate + squared / (2 * count) - spread) / (1 + squared / count), 0.0), 4)


def strategy_text(task: str, content: str) -> str:
    """The text of the memory of a strategy: recall finds it by its task and by what it says."""
    return f"{task}\n{content}"


def _without_task(text: str, task: str) -> str:
    """What a strategy says; the text of its memory may have been changed since."""
    return text.removeprefix(f"{task}\n")
