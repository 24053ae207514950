"""`memory.strategies`: how tasks were solved, and how well that worked."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.mind import strategies
from mnemic.recall.request import channels_of
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.strategy import Strategy, StrategyUse, ToolStatistics


class AsyncStrategies(CallGroup):
    """Strategies: what to do for a kind of task, with counted successes and failures; statistics of tools.

    The text of a strategy is a memory, with the same id: change or forget it there. Once an hour, Mnemic adds
    the sequences of tools that several conversations have in common.
    """

    @routed("strategies.learn")
    async def learn(
        self,
        task: str,
        content: str,
        *,
        tools: Sequence[str] = (),
        succeeded: bool | None = None,
        conversation: str | None = None,
        note: str | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Strategy:
        """Store what to do for a kind of task, with the tools that it needs, and return the strategy.

        `succeeded` says how its first use went, `note` what happened; a strategy that failed is kept as a
        warning. Say in general words what the task is, without names and numbers of this one. Learning the
        same text again returns the strategy that exists.
        """
        return await strategies.learn_strategy(
            self._caller,
            self._caller.scoped(owner, channel),
            task,
            content,
            tools=tools,
            succeeded=succeeded,
            conversation=conversation,
            note=note,
        )

    @routed("strategies.find")
    async def find(
        self, task: str, *, limit: int = 5, owner: str | None = None, channel: str | None = None
    ) -> Sequence[Strategy]:
        """Return the strategies that fit a task best, by meaning and by their success; warnings come last.

        They are searched in the active channel and in `_global`. Empty if none is close enough.
        """
        scope = self._caller.scoped(owner, channel)
        return await strategies.find_strategies(
            self._caller, scope, task, channels=channels_of(scope, None), limit=limit
        )

    @routed("strategies.get")
    async def get(self, strategy_id: UUID | str, *, owner: str | None = None) -> Strategy:
        """Return one strategy; NotFoundError if the owner has none with this id."""
        return await strategies.get_strategy(self._caller.database, self._caller.scoped(owner), strategy_id)

    @routed("strategies.list")
    async def list(
        self,
        *,
        tool: str | None = None,
        mined: bool | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Strategy]:
        """Return strategies, newest first; `before` is the id of the last one of the previous page.

        `tool` lists those that use a tool, `mined` those that Mnemic found (or did not find) itself.
        """
        return await strategies.list_strategies(
            self._caller.database,
            self._caller.scoped(owner),
            tool=tool,
            mined=mined,
            before=before,
            limit=limit,
        )

    @routed("strategies.reinforce")
    async def reinforce(
        self,
        strategy_id: UUID | str,
        succeeded: bool,
        *,
        conversation: str | None = None,
        note: str | None = None,
        owner: str | None = None,
    ) -> Strategy:
        """Record that a strategy was used, and whether it succeeded; returns it with the new counts."""
        return await strategies.reinforce_strategy(
            self._caller.database,
            self._caller.scoped(owner),
            strategy_id,
            succeeded,
            conversation=conversation,
            note=note,
        )

    @routed("strategies.uses")
    async def uses(
        self, strategy_id: UUID | str, *, limit: int = 100, owner: str | None = None
    ) -> Sequence[StrategyUse]:
        """Return the latest uses of a strategy, newest first."""
        scope = self._caller.scoped(owner)
        return await strategies.list_uses(self._caller.database, scope, strategy_id, limit=limit)

    @routed("strategies.tools")
    async def tools(
        self,
        *,
        task: str | None = None,
        since: datetime | str | None = None,
        limit: int = 100,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Sequence[ToolStatistics]:
        """Return how often each tool was called, its success and its mean duration, most used first.

        With `task`, only calls in conversations that are about such a task count.
        """
        scope = self._caller.scoped(owner, channel)
        return await strategies.tool_statistics(
            self._caller,
            scope,
            task=task,
            since=since,
            channels=channels_of(scope, None),
            limit=limit,
        )
