"""Goals: what an owner wants to achieve. The table is in `sql/migrations/0023_goals.sql`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args
from uuid import UUID

GoalStatus = Literal["active", "completed", "abandoned", "blocked"]
GOAL_STATUSES: tuple[GoalStatus, ...] = get_args(GoalStatus)
OPEN_GOAL_STATUSES: tuple[GoalStatus, ...] = ("active", "blocked")
"""A goal with one of the other statuses is closed: it leaves recall and prompts, and stays in the history."""

GoalField = Literal["deadline", "result", "parent"]
"""What `goals.update` can clear."""
GOAL_FIELDS: tuple[GoalField, ...] = get_args(GoalField)

PRIORITY_MAX = 10
PRIORITY_DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal. `goal_id` is the id of the memory that holds its text.

    `status` is `blocked` while a goal in `blocked_by` is not completed, or if it was set by hand;
    `open_blockers` are those that are not completed. `priority` is 0 to 10, 10 the most urgent. `parent_id`
    is the goal that it is a part of. `result` says how it ended. Forgotten goals neither block nor have
    sub-goals.
    """

    goal_id: UUID
    owner: str
    channel: str
    content: str
    status: GoalStatus
    priority: int
    deadline: datetime | None
    result: str | None
    parent_id: UUID | None
    blocked_by: tuple[UUID, ...]
    open_blockers: tuple[UUID, ...]
    tags: tuple[str, ...]
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> "Goal":
        """The goal in a row of `state.goal_records`."""
        fields = {name: value for name, value in row.items() if name not in ("tenant_id", "stored_status")}
        for name in ("blocked_by", "open_blockers", "tags"):
            fields[name] = tuple(fields[name])
        return cls(**fields)

    @property
    def is_open(self) -> bool:
        """Whether it is still to be achieved."""
        return self.status in OPEN_GOAL_STATUSES
