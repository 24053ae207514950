"""`memory.working`: what an agent needs only for its current task."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from mnemic.mind import working
from mnemic.mind.working import EXPIRES_IN_S_DEFAULT, TURNS_DEFAULT
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.goal import Goal
from mnemic.types.working import Thought, WorkingMemory, WorkingValue


class AsyncWorking(CallGroup):
    """Working memory: values, thoughts and the active goal of a channel and, if one is named, a conversation.

    Everything expires, by default after an hour. Nothing here is recalled, and a crash of PostgreSQL may
    empty it: what must last belongs into `retain` or `state`.
    """

    @routed("working.set")
    async def set(
        self,
        key: str,
        value: Any,
        *,
        expires_in_s: float = EXPIRES_IN_S_DEFAULT,
        conversation: str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> WorkingValue:
        """Write a value (JSON, at most 8 KiB) that expires after 1 second to 7 days, and return it.

        ConflictError if the conversation has 100 other values, or the owner 1,000 other items.
        """
        return await working.set_value(
            self._caller.database,
            self._caller.scoped(owner, channel),
            key,
            value,
            expires_in_s=expires_in_s,
            conversation=conversation,
        )

    @routed("working.get")
    async def get(
        self,
        key: str,
        *,
        conversation: str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> WorkingValue | None:
        """Return the value of a key; None if there is none, or if it has expired."""
        scope = self._caller.scoped(owner, channel)
        found = await working.list_values(self._caller.database, scope, conversation=conversation, key=key)
        return found[0] if found else None

    @routed("working.list")
    async def list(
        self, *, conversation: str | None = None, owner: str | None = None, channel: str | None = None
    ) -> Sequence[WorkingValue]:
        """Return all values of the channel and conversation, by key."""
        scope = self._caller.scoped(owner, channel)
        return await working.list_values(self._caller.database, scope, conversation=conversation)

    @routed("working.delete")
    async def delete(
        self,
        key: str,
        *,
        conversation: str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> bool:
        """Delete a value; returns whether there was one."""
        scope = self._caller.scoped(owner, channel)
        return await working.delete_value(self._caller.database, scope, key, conversation=conversation)

    @routed("working.add_thought")
    async def add_thought(
        self,
        content: str,
        *,
        expires_in_s: float = EXPIRES_IN_S_DEFAULT,
        conversation: str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Thought:
        """Note a thought about the current task. The newest 50 of a conversation are kept."""
        return await working.add_thought(
            self._caller.database,
            self._caller.scoped(owner, channel),
            content,
            expires_in_s=expires_in_s,
            conversation=conversation,
        )

    @routed("working.thoughts")
    async def thoughts(
        self, *, conversation: str | None = None, owner: str | None = None, channel: str | None = None
    ) -> Sequence[Thought]:
        """Return the thoughts of the channel and conversation, oldest first."""
        scope = self._caller.scoped(owner, channel)
        return await working.list_thoughts(self._caller.database, scope, conversation=conversation)

    @routed("working.set_active_goal")
    async def set_active_goal(
        self,
        goal_id: UUID | str,
        *,
        expires_in_s: float = EXPIRES_IN_S_DEFAULT,
        conversation: str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Goal:
        """Choose the goal that is worked on, and return it; ConflictError unless it is open."""
        return await working.set_active_goal(
            self._caller.database,
            self._caller.scoped(owner, channel),
            goal_id,
            expires_in_s=expires_in_s,
            conversation=conversation,
        )

    @routed("working.active_goal")
    async def active_goal(
        self, *, conversation: str | None = None, owner: str | None = None, channel: str | None = None
    ) -> Goal | None:
        """Return the goal that is worked on; None if there is none, or if it was closed or forgotten."""
        scope = self._caller.scoped(owner, channel)
        return await working.get_active_goal(self._caller.database, scope, conversation=conversation)

    @routed("working.read")
    async def read(
        self,
        *,
        conversation: str | None = None,
        turns: int = TURNS_DEFAULT,
        owner: str | None = None,
        channel: str | None = None,
    ) -> WorkingMemory:
        """Return everything of the channel and conversation, and the last turns of the conversation."""
        scope = self._caller.scoped(owner, channel)
        return await working.read_working_memory(
            self._caller.database, scope, conversation=conversation, turns=turns
        )

    @routed("working.clear")
    async def clear(
        self,
        *,
        conversation: str | None = None,
        everywhere: bool = False,
        owner: str | None = None,
        channel: str | None = None,
    ) -> int:
        """Delete everything of the channel and conversation; returns the number of items.

        `everywhere` clears all channels and conversations of the owner. The turns are memories and stay.
        """
        scope = self._caller.scoped(owner, channel)
        return await working.clear(
            self._caller.database, scope, conversation=conversation, everywhere=everywhere
        )
