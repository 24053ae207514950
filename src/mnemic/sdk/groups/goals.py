"""`memory.goals`: what an owner wants to achieve."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.mind import goals
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.goal import OPEN_GOAL_STATUSES, PRIORITY_DEFAULT, Goal, GoalField, GoalStatus


class AsyncGoals(CallGroup):
    """Goals, with deadlines, sub-goals and blockers. The text of a goal is a memory, with the same id."""

    @routed("goals.create")
    async def create(
        self,
        content: str,
        *,
        priority: int = PRIORITY_DEFAULT,
        deadline: datetime | str | None = None,
        parent: UUID | str | None = None,
        blocked_by: Sequence[UUID | str] = (),
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Goal:
        """Store a goal and return it; it is active, or blocked while one of `blocked_by` is not completed.

        `priority` is 0 to 10, 10 the most urgent. `parent` is the goal that this one is a part of.
        ConflictError if the owner has a memory with the same text already: to change a goal, use `update`.
        """
        return await goals.create_goal(
            self._caller,
            self._caller.scoped(owner, channel),
            content,
            priority=priority,
            deadline=deadline,
            parent=parent,
            blocked_by=blocked_by,
            tags=tags,
            metadata=metadata,
        )

    @routed("goals.get")
    async def get(self, goal_id: UUID | str, *, owner: str | None = None) -> Goal:
        """Return one goal; NotFoundError if the owner has none with this id."""
        return await goals.get_goal(self._caller.database, self._caller.scoped(owner), goal_id)

    @routed("goals.list")
    async def list(
        self,
        *,
        statuses: Sequence[GoalStatus] | None = OPEN_GOAL_STATUSES,
        due_before: datetime | str | None = None,
        parent: UUID | str | None = None,
        channel: str | None = None,
        after: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Goal]:
        """Return goals by deadline, then the most urgent first; by default open ones, of all channels.

        `statuses=None` lists all. `parent` lists the sub-goals of a goal. `after` is the id of the last goal
        of the previous page.
        """
        return await goals.list_goals(
            self._caller.database,
            self._caller.scoped(owner),
            statuses=statuses,
            due_before=due_before,
            parent=parent,
            channels=[channel] if channel is not None else None,
            after=after,
            limit=limit,
        )

    @routed("goals.update")
    async def update(
        self,
        goal_id: UUID | str,
        *,
        status: GoalStatus | None = None,
        priority: int | None = None,
        deadline: datetime | str | None = None,
        result: str | None = None,
        parent: UUID | str | None = None,
        clear: Sequence[GoalField] = (),
        owner: str | None = None,
    ) -> Goal:
        """Change a goal and return it; `clear` removes the deadline, the result or the parent.

        A completed or abandoned goal leaves recall and prompts, and stays in the history; making it active
        brings it back. ConflictError if a goal that is to become active has open blockers, or if it would
        become a part of itself. To change the text, use `memories.update`.
        """
        return await goals.update_goal(
            self._caller.database,
            self._caller.scoped(owner),
            goal_id,
            status=status,
            priority=priority,
            deadline=deadline,
            result=result,
            parent=parent,
            clear=clear,
        )

    @routed("goals.block")
    async def block(self, goal_id: UUID | str, blocker_id: UUID | str, *, owner: str | None = None) -> Goal:
        """Make a goal wait for another one: it is blocked until that one is completed.

        ConflictError if the other one waits for this goal, directly or through others.
        """
        scope = self._caller.scoped(owner)
        return await goals.block_goal(self._caller.database, scope, goal_id, blocker_id)

    @routed("goals.unblock")
    async def unblock(self, goal_id: UUID | str, blocker_id: UUID | str, *, owner: str | None = None) -> Goal:
        """Stop a goal from waiting for another one; does nothing if it does not wait."""
        return await goals.unblock_goal(
            self._caller.database, self._caller.scoped(owner), goal_id, blocker_id
        )

    @routed("goals.delete")
    async def delete(self, goal_id: UUID | str, *, owner: str | None = None) -> bool:
        """Forget a goal; returns whether there was one. `memories.restore` brings it back."""
        return await goals.delete_goal(self._caller.database, self._caller.scoped(owner), goal_id)
