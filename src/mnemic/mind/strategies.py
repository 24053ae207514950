"""Strategies: memories of the category `procedural` with a task, tools, and counted successes and failures.

The text of a strategy is its memory: the task in the first line, so that recall finds it by words and by
meaning, and what to do below. `find` ranks those that recall finds by how well they fit the task and by the
lower bound of their success. A strategy that failed more often than it succeeded is not deleted: it comes
last, as a warning.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.recall.pipeline import recall_unrecorded
from mnemic.recall.request import Filter, Request
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller
from mnemic.types.checks import check_flag, check_id, check_text, check_time, check_whole
from mnemic.types.memory import CONTENT_MAX_CHARACTERS
from mnemic.types.page import check_limit
from mnemic.types.recalled import Hit
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope, check_name
from mnemic.types.strategy import (
    Strategy,
    StrategyUse,
    ToolStatistics,
    strategy_text,
    success_lower_bound,
)

TAG = "strategy"
"""Every strategy has this tag, by which recall finds strategies among other memories."""
TASK_MAX_CHARACTERS = 2_048
TOOLS_MAX = 32
NOTE_MAX_CHARACTERS = 2_048
FOUND_MAX = 50
USES_KEPT = 1_000
"""Uses of a strategy that are kept one by one; older ones are only counted."""
TASK_CONVERSATIONS_MAX = 50
"""Conversations like a task whose tool calls are counted for it."""
FIT_MIN_SHARE = 0.6
"""What scores less than this share of the best hit is about something else."""
TECHNIQUES = frozenset({"vector", "text", "graph"})
"""How strategies are searched: without times, neighbours and a language model."""


async def learn_strategy(
    caller: Caller,
    scope: Scope,
    task: str,
    content: str,
    *,
    tools: Sequence[str],
    succeeded: bool | None,
    conversation: str | None,
    note: str | None,
) -> Strategy:
    """Store a strategy and, unless `succeeded` is None, its first use. The same text is stored once."""
    values = {
        "owner": scope.require_owner(),
        "task": check_text("task", task, max_characters=TASK_MAX_CHARACTERS),
        "tools": _check_tools(tools),
        "is_mined": False,
    }
    text = strategy_text(task, check_text("content", content, max_characters=CONTENT_MAX_CHARACTERS))
    check_text("task and content", text, max_characters=CONTENT_MAX_CHARACTERS)
    if succeeded is None and (conversation is not None or note is not None):
        raise InvalidInputError("conversation and note belong to a use: say whether it succeeded.")
    use = _check_use(succeeded, conversation, note) if succeeded is not None else None
    learnt: list[Strategy] = []

    async def add(transaction: Transaction, retained: Retained) -> None:
        for refused in retained.refused:
            raise ConflictError(f"The strategy was not stored: {refused.reason}")
        key = {"owner": values["owner"], "strategy_id": retained.memory_ids[0]}
        await transaction.execute("strategies.add", {**values, **key})
        if use is not None:
            await _add_use(transaction, {**key, **use})
        learnt[:] = [await _read(transaction, scope, retained.memory_ids[0])]

    await retain_items(
        Caller(caller.core, scope), [text], {"category": "procedural", "tags": [TAG]}, and_then=add
    )
    return learnt[0]


async def find_strategies(
    caller: Caller, scope: Scope, task: str, *, channels: Sequence[str], limit: int
) -> list[Strategy]:
    """Strategies for a task, best first, warnings last; an empty list if none is close enough."""
    query = check_text("task", task, max_characters=TASK_MAX_CHARACTERS)
    check_whole("limit", limit, 1, FOUND_MAX)
    request = search_request(query, scope, channels, limit=limit)
    hits = await _search(caller, replace(request, filter=_of_strategies(request.filter)))
    scores = {hit.memory.memory_id: round(hit.score, 4) for hit in hits}
    parameters = {"owner": scope.require_owner(), "ids": list(scores)}
    async with caller.database.transaction() as transaction:
        rows = await transaction.rows("strategies.get_many", parameters) if scores else []
    return best_first(Strategy.from_row(row, scores[row["strategy_id"]]) for row in rows)


async def list_strategies(
    database: TenantDatabase,
    scope: Scope,
    *,
    tool: str | None,
    mined: bool | None,
    before: UUID | str | None,
    limit: int,
) -> list[Strategy]:
    """Strategies, newest first."""
    parameters = {
        "owner": scope.require_owner(),
        "tool": check_name("tool", tool) if tool is not None else None,
        "is_mined": check_flag("mined", mined) if mined is not None else None,
        "before": check_id("before", before) if before is not None else None,
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [Strategy.from_row(row) for row in await transaction.rows("strategies.list", parameters)]


async def get_strategy(database: TenantDatabase, scope: Scope, strategy_id: UUID | str) -> Strategy:
    """One strategy; NotFoundError if the owner has none with this id."""
    async with database.transaction() as transaction:
        return await _read(transaction, scope, check_id("strategy_id", strategy_id))


async def reinforce_strategy(
    database: TenantDatabase,
    scope: Scope,
    strategy_id: UUID | str,
    succeeded: bool,
    *,
    conversation: str | None,
    note: str | None,
) -> Strategy:
    """Record a use and count its outcome."""
    key: dict[str, Any] = {
        "owner": scope.require_owner(),
        "strategy_id": check_id("strategy_id", strategy_id),
    }
    use = _check_use(succeeded, conversation, note)

    async def reinforce(transaction: Transaction) -> Strategy:
        await _read(transaction, scope, key["strategy_id"])
        await _add_use(transaction, {**key, **use})
        return await _read(transaction, scope, key["strategy_id"])

    return await database.run(reinforce)


async def list_uses(
    database: TenantDatabase, scope: Scope, strategy_id: UUID | str, *, limit: int
) -> list[StrategyUse]:
    """The latest uses of a strategy, newest first."""
    parameters = {
        "owner": scope.require_owner(),
        "strategy_id": check_id("strategy_id", strategy_id),
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [StrategyUse(**row) for row in await transaction.rows("strategies.uses", parameters)]


async def tool_statistics(
    caller: Caller,
    scope: Scope,
    *,
    task: str | None,
    since: datetime | str | None,
    channels: Sequence[str],
    limit: int,
) -> list[ToolStatistics]:
    """Calls and outcomes by tool, most used first; with `task`, in conversations about such a task."""
    parameters = {
        "owner": scope.require_owner(),
        "conversations": await _conversations_like(caller, scope, task, channels)
        if task is not None
        else None,
        "since": check_time("since", since) if since is not None else None,
        "limit": check_limit(limit),
    }
    async with caller.database.transaction() as transaction:
        return [_statistics(row) for row in await transaction.rows("strategies.tools", parameters)]


def best_first(found: Iterable[Strategy]) -> list[Strategy]:
    """By fit, weighted up to twice as much by success; warnings last."""
    return sorted(
        found, key=lambda each: (each.is_warning, -(each.score or 0.0) * (1 + each.success_rate), each.task)
    )


def search_request(query: str, scope: Scope, channels: Sequence[str], *, limit: int) -> Request:
    """A recall of a few memories that is neither counted nor logged."""
    return Request(
        query=query,
        scope=scope,
        filter=Filter(channels=tuple(channels)),
        limit=limit,
        max_tokens=None,
        as_of=None,
        asked_at=datetime.now(UTC),
        refuse_below=None,
        techniques=TECHNIQUES,
        explain=False,
        include=frozenset(),
        record=False,
    )


def _of_strategies(within: Filter) -> Filter:
    return replace(within, categories=("procedural",), tags=(TAG,))


async def _search(caller: Caller, request: Request) -> list[Hit]:
    """The owner's own memories that fit a task. Grants open memories, not strategies and tool calls."""
    recalled = await recall_unrecorded(caller, request)
    own = [hit for hit in recalled if hit.memory.owner == request.scope.owner]
    lowest = FIT_MIN_SHARE * max((hit.score for hit in own), default=0.0)
    return [hit for hit in own if hit.score >= lowest]


async def _conversations_like(caller: Caller, scope: Scope, task: str, channels: Sequence[str]) -> list[str]:
    query = check_text("task", task, max_characters=TASK_MAX_CHARACTERS)
    request = search_request(query, scope, channels, limit=TASK_CONVERSATIONS_MAX)
    hits = await _search(caller, replace(request, filter=replace(request.filter, categories=("episodic",))))
    found = (hit.memory.conversation for hit in hits)
    return list(dict.fromkeys(conversation for conversation in found if conversation is not None))


async def _add_use(transaction: Transaction, use: dict[str, Any]) -> None:
    """Record a use; `strategies.lock` keeps counts and uses in step."""
    await transaction.execute("strategies.lock", use)
    await transaction.execute("strategies.add_use", use)
    counts = {"success_count": int(use["succeeded"]), "failure_count": int(not use["succeeded"])}
    await transaction.execute("strategies.count_uses", {**use, **counts})
    await transaction.execute("strategies.drop_oldest_uses", {**use, "keep": USES_KEPT})


async def _read(transaction: Transaction, scope: Scope, strategy_id: UUID) -> Strategy:
    parameters = {"owner": scope.require_owner(), "strategy_id": strategy_id}
    row = await transaction.first("strategies.get", parameters)
    if row is None:
        raise NotFoundError(f"There is no strategy {strategy_id} of this owner.")
    return Strategy.from_row(row)


def _check_use(succeeded: object, conversation: object, note: object) -> dict[str, Any]:
    return {
        "succeeded": check_flag("succeeded", succeeded),
        "conversation": check_name("conversation", conversation) if conversation is not None else None,
        "note": check_text("note", note, max_characters=NOTE_MAX_CHARACTERS) if note is not None else None,
    }


def _check_tools(tools: object) -> list[str]:
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise InvalidInputError(f"tools must be a list of names, not {type(tools).__name__}.")
    names = [check_name("tools", tool) for tool in islice(tools, TOOLS_MAX + 1)]
    if len(names) > TOOLS_MAX:
        raise InvalidInputError(f"tools: at most {TOOLS_MAX} are allowed.")
    return names


def _statistics(row: Row) -> ToolStatistics:
    calls, successes = row["call_count"], row["success_count"]
    return ToolStatistics(
        **row,
        success_rate=round(successes / calls, 4),
        success_lower_bound=success_lower_bound(successes, calls - successes),
    )
