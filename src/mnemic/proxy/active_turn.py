"""What a turn does beside relaying: it answers hidden calls, stores exchanges, and is recorded at its end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mnemic.context.entry import Entry
from mnemic.context.step import Fault
from mnemic.errors import ConflictError, MnemicError
from mnemic.proxy import paging
from mnemic.proxy.beginning import ShownTurn
from mnemic.proxy.database_state import DatabaseDownError, DatabaseState
from mnemic.proxy.exchanges import copy_transcript, store_exchange
from mnemic.proxy.hidden_tools import HiddenScope, answer
from mnemic.proxy.open_sessions import OpenSession, OpenSessions, SessionName
from mnemic.proxy.paging import PagingDecision
from mnemic.proxy.protocol import Api, Body, Conversation, Exchange, HiddenCall
from mnemic.proxy.recording import record, recorded_ids, recording_of
from mnemic.proxy.rounds import Outcome
from mnemic.proxy.sessions import session_name
from mnemic.runtime.core import Caller
from mnemic.runtime.proxy_counts import ProxyCounts
from mnemic.sdk.memory import AsyncMemory

UNAVAILABLE = "Error: the memory is not available now. Go on without it."

Asked = Mapping[str, tuple[str, Mapping[str, Any]]]

logger = logging.getLogger("mnemic.proxy")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that the proxy changes."""

    api: Api
    body: Body
    """For the provider."""
    session: OpenSession
    caller: Caller
    memory: AsyncMemory
    conversation: Conversation
    decision: PagingDecision | None
    """None if the pager decides nothing: for a compaction, or if the provider holds the conversation."""
    keep: Callable[[SessionName], Awaitable[None]]
    """Keeps the client's body after the turn, since the next one repeats it."""
    is_recorded: bool

    @property
    def hidden(self) -> frozenset[str]:
        """Names of the tools that the proxy answers."""
        return frozenset(tool.name for tool in self.session.tools) - self.conversation.tool_names


@dataclass
class ActiveTurn:
    """A request that is being answered."""

    prepared: Prepared
    database: DatabaseState
    counts: ProxyCounts
    sessions: OpenSessions
    faults: list[Fault] = field(default_factory=list)

    async def answer(self, calls: Sequence[HiddenCall]) -> Mapping[str, str]:
        """Results of hidden calls, by id."""
        session, results = self.prepared.session, {}
        async with session.lock:
            for call in calls:
                self.counts.hidden_calls[call.name] += 1
                results[call.id] = await self._answer(session, call)
        return results

    async def store(self, exchange: Exchange | None, turn: ShownTurn) -> None:
        """Store what later requests need, before the client sees the end of its turn."""
        session = self.prepared.session
        if exchange is not None:
            session.add(exchange)
        if session.is_provisional:
            await self._attempt(self._name_session(session, turn), "session not stored")
        elif exchange is not None:
            await self._store_exchange(session, exchange)

    async def _store_exchange(self, session: OpenSession, exchange: Exchange) -> None:
        """Store an exchange.

        If the database is down, it stays in memory: the session goes on while this process lives.
        """
        try:
            async with self.database.calling():
                await self._save_exchange(session, exchange)
        except (DatabaseDownError, MnemicError) as error:
            self.counts.failed["exchange not stored"] += 1
            logger.error("an exchange could not be stored (%s)", type(error).__name__)
            session.unsaved[exchange.key] = exchange

    async def record(self, outcome: Outcome) -> None:
        """Save the window and record the turn; the client does not wait for it."""
        session = self.prepared.session
        asked = session.asked
        calls = (call for each in outcome.rounds for call in each.client_calls)
        session.asked = {call_id: (tool, arguments) for call_id, tool, arguments in calls}
        await self._attempt(self.prepared.keep(session.name), "body not kept")
        async with session.lock:
            is_saved = await self._attempt(self._save(session, outcome), "window not saved")
            if not is_saved:
                # The next request loads what is stored.
                session.forget()
        async with session.recording_lock:
            if await self._attempt(self._record(session, outcome, asked), "turn not recorded"):
                self.counts.turn_count += 1
            else:
                session.recorded = None

    async def _attempt(self, work: Awaitable[None], failure: str) -> bool:
        """Do work after a turn; whether it succeeded. An error is counted and logged."""
        try:
            await work
        except ConflictError:
            # Another process has saved the session.
            self.counts.failed["session changed by another process"] += 1
        except (DatabaseDownError, MnemicError) as error:
            self.counts.failed[failure] += 1
            logger.error("after a turn: %s (%s)", failure, type(error).__name__)
        except Exception:
            self.counts.failed[failure] += 1
            logger.exception("after a turn: %s", failure)
        else:
            return True
        return False

    async def _answer(self, session: OpenSession, call: HiddenCall) -> str:
        if session.window is None:
            return UNAVAILABLE
        scope = HiddenScope(
            self.prepared.memory, session.window, session.name.session, self.faults, session.recalled
        )
        try:
            return await answer(call, scope)
        except Exception:
            logger.exception("a hidden call failed")
            self.counts.failed["hidden call"] += 1
            return UNAVAILABLE

    async def _name_session(self, session: OpenSession, turn: ShownTurn) -> None:
        """Store a provisional session under the name that it has with this turn."""
        conversation = self.prepared.conversation
        beginning = conversation.beginning.answered(turn)
        if beginning == conversation.beginning or not self.prepared.is_recorded:
            return
        name = replace(session.name, session=session_name(conversation, beginning.digest))
        async with self.database.calling():
            scope = self.prepared.caller.scoped(name.owner)
            await copy_transcript(self.prepared.caller.database, scope, name.session, session.transcript)
        session.name, session.recorded_as = name, session_name(conversation, beginning.first)
        if beginning.is_unique:
            session.is_provisional = False
            self.sessions.adopt(session)

    async def _save_exchange(self, session: OpenSession, exchange: Exchange) -> None:
        scope = self.prepared.caller.scoped(session.name.owner)
        await store_exchange(self.prepared.caller.database, scope, session.name.session, exchange)

    async def _store_again(self, session: OpenSession) -> None:
        """Store exchanges that could not be stored before."""
        for key, exchange in list(session.unsaved.items()):
            await self._save_exchange(session, exchange)
            del session.unsaved[key]

    async def _save(self, session: OpenSession, outcome: Outcome) -> None:
        """Save the window; nothing to do if the provider holds the conversation."""
        decision, first = self.prepared.decision, outcome.rounds[0]
        self.counts.prompt_tokens += sum(each.prompt_tokens for each in outcome.rounds)
        self.counts.cached_tokens += sum(each.cached_tokens for each in outcome.rounds)
        async with self.database.calling():
            await self._store_again(session)
            if session.window is None or decision is None or session.is_provisional:
                return
            session.window.calibrate(decision.step.tokens, first.prompt_tokens)
            session.window.count_names()
            step = None if decision.is_committed else decision.step
            faults = tuple(self.faults)
            await paging.save(session, self.prepared.caller, self.prepared.conversation, step, faults=faults)

    async def _record(self, session: OpenSession, outcome: Outcome, asked: Asked) -> None:
        name, caller = session.name, self.prepared.caller
        if session.recorded is None:
            session.recorded = await recorded_ids(caller, name.owner, session.conversation)
        conversation = self.prepared.conversation
        # A request that holds only what is new cannot count how often a text occurred before.
        part = session.conversation
        part = f"{part}\0{conversation.previous_id}" if conversation.previous_id else part
        new = await asyncio.to_thread(
            recording_of,
            part,
            _with_calls(conversation.entries, asked),
            outcome.said,
            frozenset(session.recorded),
        )
        await record(caller, name.owner, session.conversation, new)
        session.recorded |= new.ids


def _with_calls(entries: Sequence[Entry], asked: Asked) -> list[Entry]:
    """Entries in which results without their call have its tool and arguments, if these are known."""
    return [
        replace(entry, tool=asked[entry.key][0], arguments=asked[entry.key][1])
        if entry.role == "result" and not entry.tool and entry.key in asked
        else entry
        for entry in entries
    ]
