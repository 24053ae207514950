"""One request that holds a conversation, from its body to the end of the response.

1. **Read** the body and find the session. Whatever the proxy does not know for sure passes unchanged
   (`_pass_through`), with a reason in the log and in the metrics.
2. **Decide** what the provider gets (`paging.py`), and commit what later requests must repeat.
3. **Relay** the rounds of the provider as one response (`rounds.py`); hidden calls are answered here.
4. **Record** the turn, after the client has the end of the response (`recording.py`).

If the provider refuses a changed body, the original one is sent: the client then sees the response to what
it has sent itself.
"""

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.config import Settings
from mnemic.context.policy.settings import PagingSettings
from mnemic.errors import ConflictError, MnemicError
from mnemic.proxy import paging
from mnemic.proxy.apis import APIS
from mnemic.proxy.callers import Caller
from mnemic.proxy.client_request import ClientRequest
from mnemic.proxy.database_state import DatabaseDownError, DatabaseState
from mnemic.proxy.endpoints import Endpoint
from mnemic.proxy.forwarding import Forwarder, relay_verbatim
from mnemic.proxy.headers import first, request_headers, rewritten_headers
from mnemic.proxy.open_sessions import OpenSession, OpenSessions, SessionName
from mnemic.proxy.opening import recall_opening, wants_opening
from mnemic.proxy.paging import Decision
from mnemic.proxy.protocol import (
    Api,
    Body,
    Changes,
    Compaction,
    Conversation,
    Exchange,
    HiddenCall,
    HiddenTool,
    Unsure,
)
from mnemic.proxy.recording import record, recorded_ids, recording_of
from mnemic.proxy.request_bodies import parse
from mnemic.proxy.rounds import Outcome, RefusedError, Rounds
from mnemic.runtime.core import Caller as CoreCaller
from mnemic.runtime.proxy_counts import ProxyCounts
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.tenants import Tenants
from mnemic.types.scope import Scope

PROCESS = "proxy"
BACKGROUND_MAX = 500
"""Turns that are being recorded; further ones wait until they are recorded."""
CLOSE_TIMEOUT_S = 10.0

logger = logging.getLogger("mnemic.proxy")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that the proxy changes."""

    api: Api
    body: Body
    """For the provider."""
    session: OpenSession
    core: CoreCaller
    memory: AsyncMemory
    conversation: Conversation
    hidden: frozenset[str]
    decision: Decision | None
    """None for a compaction: the pager decides nothing new."""


class Turns:
    """Runs the turns of all callers."""

    def __init__(self, tenants: Tenants, settings: Settings, forwarder: Forwarder, *, max_bytes: int) -> None:
        self._tenants = tenants
        self._forwarder = forwarder
        self._max_bytes = max_bytes
        self._channel = settings.channel
        self._paging = PagingSettings()
        self._sessions = OpenSessions()
        self._database = DatabaseState()
        self._counts: ProxyCounts = tenants.call_metrics.proxy
        self._background: set[asyncio.Task[None]] = set()

    async def aclose(self) -> None:
        """Wait until the last turns are recorded."""
        if self._background:
            _, unfinished = await asyncio.wait(self._background, timeout=CLOSE_TIMEOUT_S)
            if unfinished:
                logger.error("%d turns were not recorded in time", len(unfinished))

    async def run(self, request: ClientRequest, endpoint: Endpoint, caller: Caller, raw: bytes) -> None:
        """Answer a request."""
        assert endpoint.api is not None, "the request holds a conversation"
        api = APIS[endpoint.api]
        try:
            prepared = await self._prepare(request, api, caller, raw)
        except Unsure as reason:
            await self._pass_through(request, endpoint, raw, str(reason))
        except DatabaseDownError as reason:
            await self._pass_through(request, endpoint, raw, f"database down: {reason}")
        except Exception:
            logger.exception("a %s request could not be prepared", api.name)
            await self._pass_through(request, endpoint, raw, "failed")
        else:
            await self._act(request, endpoint, prepared, raw)

    async def _prepare(self, request: ClientRequest, api: Api, caller: Caller, raw: bytes) -> Prepared:
        """Read, decide and commit; Unsure or DatabaseDownError if the original must be sent."""
        encoding = first(request.headers, b"content-encoding")
        body, conversation, compaction = await asyncio.to_thread(_read, api, raw, encoding, self._max_bytes)
        name = SessionName(caller.tenant, caller.owner, identify(request.header_values, conversation))
        session = self._sessions.get(name)
        async with session.lock:
            core, memory = await self._open(session, caller)
            tools = offered_tools(conversation.tool_names)
            try:
                if compaction is not None:
                    decision, changes = None, paging.repeated(session, tools)
                    if not compaction.needs_rewriting(changes):
                        raise compaction
                else:
                    decision = await self._decide(session, core, memory, conversation, tools)
                    changes = decision.changes
                rewritten = await asyncio.to_thread(api.rewrite, body, changes)
            except Unsure:
                raise
            except BaseException:
                # The window may have decided what is not stored.
                session.forget()
                raise
        self._sessions.resize(session, paging.size_of(session, conversation))
        hidden = frozenset(tool.name for tool in tools)
        return Prepared(api, rewritten, session, core, memory, conversation, hidden, decision)

    async def _open(self, session: OpenSession, caller: Caller) -> tuple[CoreCaller, AsyncMemory]:
        """The memory of the caller, and the session loaded."""
        key_id = caller.key.key.key_id if caller.key is not None else None
        async with self._database.calling():
            core = await self._tenants.core(caller.key.tenant if caller.key is not None else caller.tenant)
            scope = Scope(caller.owner, self._channel, PROCESS, key_id)
            await paging.load(session, CoreCaller(core, scope), self._paging)
        return CoreCaller(core, scope), memory_on_core(core, scope)

    async def _decide(
        self,
        session: OpenSession,
        core: CoreCaller,
        memory: AsyncMemory,
        conversation: Conversation,
        tools: tuple[HiddenTool, ...],
    ) -> Decision:
        """Decide, and commit what later requests must repeat."""
        async with self._database.calling():
            await paging.begin(session, core, memory, conversation)
        decision = await asyncio.to_thread(paging.decide, session, conversation, tools)
        if decision.must_be_committed:
            async with self._database.calling():
                await paging.commit(session, core, conversation, decision)
        return decision
