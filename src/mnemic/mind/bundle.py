"""`recall(…, include=…)`: goals, working memory, profile and strategies together with the hits.

They are read at the same time as the hits, each with few statements, and only if the caller asks for them. A
refusal says that no memory answers the query; what was included is part of the result all the same.
"""

import asyncio
from dataclasses import replace

from mnemic.mind.bundle_text import PROFILE_TOKENS_DEFAULT, pack_bundle, share_of
from mnemic.mind.goals import list_goals
from mnemic.mind.strategies import find_strategies
from mnemic.mind.working import TURNS_DEFAULT, read_working_memory
from mnemic.recall.packing import Packed, Packing
from mnemic.recall.pipeline import recall_request
from mnemic.recall.profile import make_profile, profile_request
from mnemic.recall.request import Request
from mnemic.runtime.core import Caller
from mnemic.types.goal import OPEN_GOAL_STATUSES, Goal
from mnemic.types.profile import Profile
from mnemic.types.recalled import Recalled, packed_on_first_read, without_text
from mnemic.types.strategy import Strategy
from mnemic.types.working import WorkingMemory

GOALS_INCLUDED_MAX = 20
STRATEGIES_INCLUDED_MAX = 5
BUNDLE = frozenset({"goals", "strategies", "profile", "working"})
NOW_ONLY = frozenset({"goals", "strategies", "working"})
"""Their earlier states are not kept, so there is none `as_of` an earlier time."""


async def recall_with_bundle(caller: Caller, request: Request) -> Recalled:
    """The hits for a request, with what `include` asks for."""
    wanted = request.include & BUNDLE
    if not wanted:
        return await recall_request(caller, request)
    unknown = wanted & NOW_ONLY if request.as_of is not None else frozenset[str]()
    wanted -= unknown
    async with asyncio.TaskGroup() as tasks:
        # The budget of the hits is known when the rest has been packed.
        hits = tasks.create_task(recall_request(caller, replace(request, max_tokens=None)))
        goals = tasks.create_task(_goals(caller, request)) if "goals" in wanted else None
        working = tasks.create_task(_working(caller, request)) if "working" in wanted else None
        profile = tasks.create_task(_profile(caller, request)) if "profile" in wanted else None
        strategies = tasks.create_task(_strategies(caller, request)) if "strategies" in wanted else None
    found = without_text(
        hits.result(),
        goals=goals.result() if goals is not None else None,
        working=working.result() if working is not None else None,
        profile=profile.result() if profile is not None else None,
        strategies=strategies.result() if strategies is not None else None,
    )
    if unknown:
        note = f"Earlier states of {', '.join(sorted(unknown))} are not kept: left out with as_of."
        found = replace(found, notes=(*found.notes, note))
    return _packed(found, request)


def _packed(found: Recalled, request: Request) -> Recalled:
    """The result with its text, or, without a budget, one that packs it when it is first read."""
    packing = Packing(request.scope.owner, found.outcome, found.confidence)
    if request.max_tokens is None:
        return packed_on_first_read(found, lambda _: _text_and_count(pack_bundle(found, packing, None)))
    packed = pack_bundle(found, packing, request.max_tokens)
    notes = (*found.notes, *packed.notes)
    return replace(found, text=packed.text, token_count=packed.token_count, notes=notes)


def _text_and_count(packed: Packed) -> tuple[str, int]:
    return packed.text, packed.token_count


async def _goals(caller: Caller, request: Request) -> tuple[Goal, ...]:
    """Open goals in the order in which they are due, the blocked ones last."""
    found = await list_goals(
        caller.database,
        request.scope,
        statuses=OPEN_GOAL_STATUSES,
        due_before=None,
        parent=None,
        channels=request.filter.channels,
        after=None,
        limit=GOALS_INCLUDED_MAX,
    )
    return tuple(sorted(found, key=lambda goal: goal.status == "blocked"))


async def _working(caller: Caller, request: Request) -> WorkingMemory:
    conversation = request.current_conversation or request.filter.conversation
    return await read_working_memory(
        caller.database, request.scope, conversation=conversation, turns=TURNS_DEFAULT
    )


async def _profile(caller: Caller, request: Request) -> Profile:
    budget = request.max_tokens
    max_tokens = PROFILE_TOKENS_DEFAULT if budget is None else share_of("profile", budget)
    asked, question = profile_request(
        None,
        request.scope,
        max_tokens=max(max_tokens, 1),
        channels=request.filter.channels,
        techniques=request.techniques,
    )
    return await make_profile(caller, replace(asked, as_of=request.as_of), question)


async def _strategies(caller: Caller, request: Request) -> tuple[Strategy, ...]:
    found = await find_strategies(
        caller,
        request.scope,
        request.query,
        channels=request.filter.channels or (),
        limit=STRATEGIES_INCLUDED_MAX,
    )
    return tuple(found)
