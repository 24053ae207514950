"""From a conversation to what the provider gets: the pager of a session and its store.

A request takes the session's lock, decides (`decide`), and commits what it decided before anything is sent:
after a crash, the next request repeats the same decisions. What only counts uses is saved after the turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from mnemic.context.level_store import WrittenLevels, written_levels
from mnemic.context.levels.level import FULL
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.step import Fault, Step
from mnemic.context.store import load_window, save_step
from mnemic.context.window import Window
from mnemic.db.database import Transaction
from mnemic.proxy.exchanges import Transcript, begin_transcript, load_transcript, store_cut
from mnemic.proxy.open_sessions import OpenSession, SessionName
from mnemic.proxy.protocol import Changes, Conversation, HiddenTool, ThinkingCut
from mnemic.proxy.thinking_cuts import cut_at_epoch, cut_at_start
from mnemic.runtime.core import Caller

BYTES_PER_CHARACTER = 2
"""Estimate of memory for cached text, with what is kept beside it."""
BYTES_PER_ENTRY = 1_000
"""The same for an entry without text."""


@dataclass(frozen=True, slots=True)
class PagingDecision:
    """What a request sends."""

    step: Step
    cut: ThinkingCut | None
    """New with this request."""
    is_committed: bool = False

    @property
    def must_be_committed(self) -> bool:
        """Whether the next request could not decide the same without the store."""
        is_lowered = any(each.level != FULL for each in self.step.admissions)
        return is_lowered or self.step.epoch is not None or bool(self.step.transitions)


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """What the store says about a session."""

    version: int = 0
    """0 if there is no such session."""
    level_count: int = 0


async def stored_version(caller: Caller, name: SessionName) -> StoredVersion:
    """The version of a session in the store, in one round trip."""
    rows = await caller.database.read("context.version", {"owner": name.owner, "session": name.session})
    return StoredVersion(**rows[0]) if rows else StoredVersion()


async def load(
    session: OpenSession, caller: Caller, settings: PagingSettings, looked_up: StoredVersion | None = None
) -> None:
    """Load a session, unless it is cached and no other process has saved it meanwhile.

    `looked_up` is the stored version since this request arrived.
    """
    name, scope = session.name, caller.scoped(session.name.owner)
    if session.window is not None:
        held = session.saved.version if session.saved is not None else 0
        stored = looked_up
        if stored is None or stored.version != held:
            # This process may have saved the session since it was looked up.
            stored = await stored_version(caller, name)
        if stored.version == held:
            await _take_levels(session, caller, stored.level_count)
            return
    saved = await load_window(caller.database, scope, name.session)
    transcript = await load_transcript(caller.database, scope, name.session)
    session.levels = WrittenLevels()
    await _take_levels(session, caller, saved.level_count if saved is not None else 0)
    session.take(Window(settings, saved, make_level=session.make_level), saved, transcript)


async def _take_levels(session: OpenSession, caller: Caller, level_count: int) -> None:
    """Get the levels that a model has written since the session was last looked at, if there are any."""
    if level_count != session.levels.count:
        scope = caller.scoped(session.name.owner)
        session.levels = await written_levels(caller.database, scope, session.name.session, level_count)


async def begin(
    session: OpenSession,
    caller: Caller,
    conversation: Conversation,
    *,
    opening: str | None,
    tools: Sequence[HiddenTool],
) -> None:
    """Store the start of a session: hidden tools and opening, as they are sent in every request.

    That of a provisional session is stored when it has its name.
    """
    if session.is_provisional:
        cut = cut_at_start(conversation)
        session.begin(Transcript(opening, tuple(tools), cuts=(cut,) if cut is not None else ()))
        return
    session.begin(
        await begin_transcript(
            caller.database,
            caller.scoped(session.name.owner),
            session.name.session,
            opening=opening,
            tools=tools,
            cut=cut_at_start(conversation),
        )
    )


def may_page(session: OpenSession, conversation: Conversation) -> bool:
    """Whether deciding may take time, because many objects may change their level."""
    assert session.window is not None, "the session is loaded"
    return session.window.may_page(
        now=datetime.now(UTC), at_user_turn=conversation.at_user_turn, model=conversation.model
    )


def decide(session: OpenSession, conversation: Conversation) -> PagingDecision:
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
    cut = cut_at_epoch(conversation, {each.key for each in step.transitions})
    session.replaced = step.replaced
    session.cuts = (*session.cuts, cut) if cut is not None else session.cuts
    return PagingDecision(step, cut)


def changes_of(session: OpenSession, conversation: Conversation) -> Changes:
    """The changes that every request of a session has since its last decision."""
    # A tool of the client that is named like a hidden one is the client's, also if it comes later.
    tools = tuple(tool for tool in session.tools if tool.name not in conversation.tool_names)
    return Changes(
        exchanges=session.exchanges,
        replaced=session.replaced,
        tools=tools,
        opening=session.opening,
        drops_thinking=bool(session.cuts),
        cuts=session.cuts,
    )


async def save(
    session: OpenSession,
    caller: Caller,
    conversation: Conversation,
    step: Step | None,
    *,
    faults: tuple[Fault, ...] = (),
    cut: ThinkingCut | None = None,
) -> None:
    """Save the window of a session, and what a step decided, in one transaction."""
    assert session.window is not None, "the session is loaded"
    scope, name = caller.scoped(session.name.owner), session.name.session
    window, texts, previous = session.window.saved(), _texts(conversation), session.saved

    async def write(transaction: Transaction) -> None:
        session.saved = await save_step(
            transaction, scope, name, step, window, texts, previous=previous, faults=faults
        )
        if cut is not None:
            await store_cut(transaction, scope, name, cut)

    await caller.database.run(write)


def size_of(session: OpenSession) -> int:
    """Bytes that a cached session takes, estimated."""
    characters, entries = session.exchange_characters, 0
    if session.window is not None:
        characters += session.window.full_chars
        entries = session.window.entry_count
    return BYTES_PER_CHARACTER * characters + BYTES_PER_ENTRY * entries


def _texts(conversation: Conversation) -> Mapping[str, str]:
    return {entry.key: entry.text for entry in conversation.entries if entry.is_pageable}
