"""From a conversation to what the provider gets: the pager of a session, its store, and its exchanges.

A request takes the session's lock, decides (`decide`), and commits what it decided before anything is sent:
after a crash, the next request repeats the same decisions. What only counts uses is saved later.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from mnemic.context.levels.level import FULL
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.step import Fault, Step
from mnemic.context.store import load_window, save_step
from mnemic.context.window import Window
from mnemic.proxy.open_sessions import OpenSession
from mnemic.proxy.protocol import Changes, Conversation, HiddenTool, ThinkingCut
from mnemic.runtime.core import Caller

TEXT_BYTES_PER_CHARACTER = 2
"""Estimate of memory for cached text, and what is kept beside it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a request sends."""

    step: Step
    changes: Changes
    cut: ThinkingCut | None
    """New with this request."""

    @property
    def must_be_committed(self) -> bool:
        """Whether the next request could not decide the same without the store."""
        is_lowered = any(each.level != FULL for each in self.step.admissions)
        return (
            is_lowered or self.step.epoch is not None or bool(self.step.transitions) or self.cut is not None
        )


async def load(session: OpenSession, caller: Caller, settings: PagingSettings) -> bool:
    """Load the window of a session, if it is not cached or another process has saved it; whether it did."""
    name = session.name
    if session.window is not None and session.saved is not None:
        async with caller.database.transaction() as transaction:
            row = await transaction.first("context.session", {"owner": name.owner, "session": name.session})
        if row is not None and row["version"] == session.saved.version:
            return False
    session.saved = await load_window(caller.database, caller.scoped(name.owner), name.session)
    session.window = Window(settings, session.saved)
    return True


def decide(session: OpenSession, conversation: Conversation, tools: tuple[HiddenTool, ...]) -> Decision:
    """Decide what is sent. Takes time if levels have to be made: call it in a thread."""
    window = session.window
    assert window is not None, "the session is loaded"
    step = window.observe(
        conversation.entries,
        fixed_tokens=round(conversation.fixed_chars * window.tokens_per_char),
        now=datetime.now(UTC),
        at_user_turn=conversation.at_user_turn,
        model=conversation.model,
    )
    cut = _cut(step, conversation)
    cuts = (*session.cuts, cut) if cut is not None else session.cuts
    changes = Changes(
        exchanges=session.exchanges,
        replaced=step.replaced,
        tools=tools,
        opening=session.opening,
        drops_thinking=bool(cuts),
        cuts=cuts,
    )
    return Decision(step, changes, cut)


async def save(
    session: OpenSession,
    caller: Caller,
    conversation: Conversation,
    step: Step | None,
    *,
    faults: tuple[Fault, ...] = (),
) -> None:
    """Save the window of a session, and what a step decided."""
    assert session.window is not None, "the session is loaded"
    session.saved = await save_step(
        caller.database,
        caller.scoped(session.name.owner),
        session.name.session,
        step,
        session.window.saved(),
        _texts(conversation),
        previous=session.saved,
        faults=faults,
    )


def size_of(session: OpenSession, conversation: Conversation) -> int:
    """Bytes that a cached session takes, estimated."""
    entries = sum(len(entry.text) for entry in conversation.entries)
    exchanges = sum(len(str(exchange.items)) for exchange in session.exchanges.values())
    return TEXT_BYTES_PER_CHARACTER * (entries + exchanges)


def _texts(conversation: Conversation) -> Mapping[str, str]:
    return {entry.key: entry.text for entry in conversation.entries if entry.is_pageable}


def _cut(step: Step, conversation: Conversation) -> ThinkingCut | None:
    """Which thinking no longer fits after this step: what follows the first entry that changed."""
    if not step.transitions or not conversation.has_thinking:
        return None
    changed = {each.key for each in step.transitions}
    first = next((entry.key for entry in conversation.entries if entry.key in changed), "")
    return ThinkingCut(first, conversation.last_turn, conversation.open_turn)
