"""The results of the tools for goals, strategies and working memory."""

from typing import Any

from pydantic import Field

from mnemic.mcp.size_limits import fitting, json_size, truncated_as_json
from mnemic.mcp.tool import ToolResult
from mnemic.mcp.tool_results import ResultPart
from mnemic.recall.packing import indented
from mnemic.types.goal import Goal
from mnemic.types.strategy import Strategy
from mnemic.types.working import WorkingMemory

CONTENT_MAX_CHARACTERS = 2_000
PART_MAX_CHARACTERS = 8_000
"""Limit for the values, the thoughts and the turns of a working memory, each."""


class GoalCard(ResultPart):
    """A goal."""

    goal_id: str
    content: str
    status: str
    priority: int = Field(description="0 to 10; 10 is the most urgent.")
    deadline: str | None = Field(description="When it is due, ISO 8601.")
    result: str | None = Field(description="How it ended.")
    parent: str | None = Field(description="The goal that it is a part of.")
    waits_for: list[str] = Field(description="Goals that must be completed first.")

    def line(self) -> str:
        """One entry of text; its own lines are indented, so that content cannot look like another entry."""
        due = f", due {self.deadline[:16]}" if self.deadline else ""
        ended = f"\nResult: {self.result}" if self.result else ""
        waiting = f", waits for {', '.join(self.waits_for)}" if self.waits_for else ""
        head = f"{self.status}, priority {self.priority}{due}{waiting}"
        return f"[{head}] {indented(f'{self.content}{ended}')} (goal {self.goal_id})"


class GoalResult(ToolResult):
    """One goal."""

    goal: GoalCard

    def texts(self) -> list[str]:
        """One entry."""
        return [self.goal.line()]


class GoalsResult(ToolResult):
    """Goals in the order in which they are due."""

    goals: list[GoalCard]
    left_out_count: int = Field(description="Further goals that did not fit into the result.")

    def texts(self) -> list[str]:
        """An entry per goal."""
        lines = [f"- {goal.line()}" for goal in self.goals] or ["There are no such goals."]
        more = [f"{self.left_out_count} more did not fit."] if self.left_out_count else []
        return ["\n".join(lines + more)]


def goal_card(goal: Goal) -> GoalCard:
    """A goal for a model; long texts are cut."""
    return GoalCard(
        goal_id=str(goal.goal_id),
        content=truncated_as_json(goal.content, CONTENT_MAX_CHARACTERS),
        status=goal.status,
        priority=goal.priority,
        deadline=goal.deadline.isoformat() if goal.deadline is not None else None,
        result=truncated_as_json(goal.result, CONTENT_MAX_CHARACTERS) if goal.result is not None else None,
        parent=str(goal.parent_id) if goal.parent_id is not None else None,
        waits_for=[str(blocker) for blocker in goal.open_blockers],
    )


class StrategyCard(ResultPart):
    """A strategy."""

    strategy_id: str
    task: str
    content: str
    tools: list[str]
    success_count: int
    failure_count: int
    is_warning: bool = Field(description="Whether it failed more often than it succeeded: avoid it.")
    failure_notes: list[str] = Field(description="What happened when it failed, newest first.")

    def line(self) -> str:
        """One entry of text, indented like the others."""
        counted = f"worked {self.success_count}, failed {self.failure_count}"
        head = f"warning, {counted}" if self.is_warning else counted
        tools = f" (tools: {', '.join(self.tools)})" if self.tools else ""
        notes = "".join(f"\nIt failed: {note}" for note in self.failure_notes)
        said = f"{self.task}: {self.content}{tools}{notes}"
        return f"[{head}] {indented(said)} (strategy {self.strategy_id})"


class StrategyResult(ToolResult):
    """One strategy."""

    strategy: StrategyCard

    def texts(self) -> list[str]:
        """One entry."""
        return [self.strategy.line()]


class StrategiesResult(ToolResult):
    """Strategies, best first, warnings last; and the tools of such conversations."""

    strategies: list[StrategyCard]
    tools: dict[str, str] = Field(
        description="How often each tool succeeded in conversations about such tasks."
    )

    def texts(self) -> list[str]:
        """An entry per strategy and per tool."""
        lines = [f"- {strategy.line()}" for strategy in self.strategies] or ["No strategy is known for this."]
        lines += [f"- tool {indented(tool)}: {outcomes}" for tool, outcomes in self.tools.items()]
        return ["\n".join(lines)]


def strategy_card(strategy: Strategy) -> StrategyCard:
    """A strategy for a model; long texts are cut."""
    return StrategyCard(
        strategy_id=str(strategy.strategy_id),
        task=truncated_as_json(strategy.task, CONTENT_MAX_CHARACTERS),
        content=truncated_as_json(strategy.content, CONTENT_MAX_CHARACTERS),
        tools=list(strategy.tools),
        success_count=strategy.success_count,
        failure_count=strategy.failure_count,
        is_warning=strategy.is_warning,
        failure_notes=[truncated_as_json(note, CONTENT_MAX_CHARACTERS) for note in strategy.failure_notes],
    )


class WorkingResult(ToolResult):
    """The working memory of a conversation."""

    active_goal: GoalCard | None
    values: dict[str, Any] = Field(description="Values by key.")
    thoughts: list[str] = Field(description="Thoughts, oldest first.")
    turns: list[str] = Field(description="The last turns of the conversation, oldest first.")

    def texts(self) -> list[str]:
        """An entry per part."""
        lines = [f"- active goal {self.active_goal.line()}"] if self.active_goal is not None else []
        lines += [f"- [value] {indented(f'{key}: {value}')}" for key, value in self.values.items()]
        lines += [f"- [thought] {indented(thought)}" for thought in self.thoughts]
        lines += [f"- [turn] {indented(turn)}" for turn in self.turns]
        return ["\n".join(lines or ["The working memory is empty."])]


def working_result(held: WorkingMemory) -> WorkingResult:
    """The working memory for a model: as much of each part as fits, the newest thoughts and turns first."""
    turns = [f"{turn.name or turn.role or 'somebody'}: {turn.content}" for turn in held.turns]
    values = [(value.key, value.value) for value in held.values]
    return WorkingResult(
        active_goal=goal_card(held.goal) if held.goal is not None else None,
        values=dict(fitting(values, json_size, PART_MAX_CHARACTERS)),
        thoughts=_newest([thought.content for thought in held.thoughts]),
        turns=_newest([truncated_as_json(turn, CONTENT_MAX_CHARACTERS) for turn in turns]),
    )


def _newest(texts: list[str]) -> list[str]:
    return fitting(reversed(texts), json_size, PART_MAX_CHARACTERS)[::-1]


class WorkingChanged(ToolResult):
    """What was done."""

    done: list[str]

    def texts(self) -> list[str]:
        """One sentence."""
        said = ", ".join(self.done)
        return [f"{said[0].upper()}{said[1:]}."]
