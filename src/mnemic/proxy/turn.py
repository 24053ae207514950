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
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

from mnemic.config import Settings
from mnemic.context.policy.settings import PagingSettings
from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.errors import ConflictError
from mnemic.proxy import paging
from mnemic.proxy.active_turn import ActiveTurn, Prepared
from mnemic.proxy.apis import APIS
from mnemic.proxy.body_reading import BodyReading, client_key
from mnemic.proxy.callers import ProxyCaller
from mnemic.proxy.client_request import ClientRequest
from mnemic.proxy.database_state import DatabaseDownError, DatabaseState
from mnemic.proxy.endpoints import ProviderEndpoint
from mnemic.proxy.errors import ProxyError
from mnemic.proxy.exchanges import find_response, session_of_response
from mnemic.proxy.forwarding import Forwarder, relay_verbatim
from mnemic.proxy.grown_bodies import ReadBody
from mnemic.proxy.headers import RawHeaders, request_headers, rewritten_headers, without
from mnemic.proxy.hidden_tools import offered_tools
from mnemic.proxy.open_sessions import OpenSession, OpenSessions, SessionName
from mnemic.proxy.opening import recall_opening
from mnemic.proxy.paging import PagingDecision, StoredVersion
from mnemic.proxy.protocol import Api, Body, Conversation, Unsure
from mnemic.proxy.responses.stored import StoredResponse
from mnemic.proxy.rounds import RefusedError, Rounds
from mnemic.proxy.sessions import identify, session_name
from mnemic.runtime.core import Caller, Core
from mnemic.runtime.proxy_counts import ProxyCounts
from mnemic.sdk.memory import AsyncMemory, memory_on_core
from mnemic.sdk.tenants import Tenants
from mnemic.types.scope import Scope

PROCESS = "proxy"
BACKGROUND_MAX = 500
"""Turns that are being recorded; further ones wait until they are recorded."""
CLOSE_TIMEOUT_S = 10.0
LOOKED_UP_MAX_AGE_S = 1.0
"""A body may take long to arrive: then the version of its session is looked up again."""

logger = logging.getLogger("mnemic.proxy")


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The version of a session, which is looked up since the request arrived."""

    name: SessionName | None
    version: asyncio.Task[StoredVersion] | None
    since_s: float

    async def version_of(self, name: SessionName) -> StoredVersion | None:
        """The stored version of a session; None if another one was looked up, or this one too long ago."""
        is_late = time.monotonic() - self.since_s > LOOKED_UP_MAX_AGE_S
        if self.version is None or name != self.name or is_late:
            return None
        return await self.version


NOT_LOOKED_UP = LookedUp(None, None, 0.0)
"""Nothing was looked up in advance."""


class Turns:
    """Runs the turns of all callers."""

    def __init__(self, tenants: Tenants, settings: Settings, forwarder: Forwarder, *, max_bytes: int) -> None:
        self._tenants = tenants
        self._forwarder = forwarder
        self._bodies = BodyReading(max_bytes=max_bytes)
        self._channel = settings.channel
        self._paging = PagingSettings(budget_tokens=settings.proxy_window_tokens)
        self._opening_tokens = settings.proxy_opening_tokens
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

    @asynccontextmanager
    async def looking_up(
        self, request: ClientRequest, api: Api, caller: ProxyCaller
    ) -> AsyncIterator[LookedUp]:
        """Look up the version of the expected session while the body of a request arrives."""
        name = self._bodies.expected_session(client_key(request, api, caller))
        task = asyncio.create_task(self._stored_version(caller, name)) if name is not None else None
        try:
            yield LookedUp(name, task, time.monotonic())
        finally:
            if task is not None:
                await cancel_and_wait(task)

    async def run(
        self,
        request: ClientRequest,
        endpoint: ProviderEndpoint,
        caller: ProxyCaller,
        raw: bytes,
        looked_up: LookedUp,
        *,
        on_text: Callable[[int], None],
    ) -> None:
        """Answer a request. `on_text` may refuse the size of its decompressed body by a ProxyError."""
        assert endpoint.api is not None, "the request holds a conversation"
        api = APIS[endpoint.api]
        try:
            prepared = await self._prepare(request, api, caller, raw, looked_up, on_text=on_text)
        except ProxyError:
            raise
        except Unsure as reason:
            await self._pass_through(request, endpoint, raw, str(reason))
        except DatabaseDownError as reason:
            await self._pass_through(request, endpoint, raw, f"database down: {reason}")
        except Exception:
            logger.exception("%s request could not be prepared", api.name)
            await self._pass_through(request, endpoint, raw, "failed")
        else:
            await self._act(request, endpoint, prepared, raw)

    async def stored_response(self, caller: ProxyCaller, response_id: str) -> StoredResponse | None:
        """A response that the provider stores; None if it passed unchanged, or if the database is down."""
        try:
            async with self._database.calling():
                core = Caller(await self._core(caller), self._scope(caller))
                found = await find_response(core.database, core.scope, response_id)
        except DatabaseDownError:
            return None
        return StoredResponse(response_id, *found) if found is not None else None

    async def _prepare(
        self,
        request: ClientRequest,
        api: Api,
        caller: ProxyCaller,
        raw: bytes,
        looked_up: LookedUp,
        *,
        on_text: Callable[[int], None],
    ) -> Prepared:
        """Read, decide and commit; Unsure or DatabaseDownError if the original must be sent."""
        client = client_key(request, api, caller)
        read = await self._bodies.read(request, api, client, raw, on_text=on_text)
        conversation = read.conversation
        session = await self._session(request, caller, conversation)
        async with session.lock:
            try:
                made = await self._open_and_decide(session, api, caller, read, looked_up)
            except ConflictError:
                # Another process recorded a turn of the session since it was loaded.
                made = await self._open_and_decide(session, api, caller, read, NOT_LOOKED_UP)
        core, memory, decision, rewritten = made
        self._sessions.resize(session, paging.size_of(session))
        is_recorded = read.compaction is None
        keep = partial(self._bodies.keep, api, client, read)
        return Prepared(api, rewritten, session, core, memory, conversation, decision, keep, is_recorded)

    async def _open_and_decide(
        self, session: OpenSession, api: Api, caller: ProxyCaller, read: ReadBody, looked_up: LookedUp
    ) -> tuple[Caller, AsyncMemory, PagingDecision | None, Body]:
        """Load the session, decide and commit; a failure leaves nothing decided."""
        core, memory = await self._open(session, caller, looked_up)
        try:
            return core, memory, *await self._decide(session, core, memory, api, read)
        except Unsure:
            raise
        except BaseException:
            # The window may have decided what is not stored.
            session.forget()
            raise

    async def _session(
        self, request: ClientRequest, caller: ProxyCaller, conversation: Conversation
    ) -> OpenSession:
        """The session of a request; a provisional one if neither client nor beginning name it."""
        named = await self._named(request, caller, conversation)
        if named is not None:
            return self._sessions.get(SessionName(caller.tenant, caller.owner, named))
        beginning = conversation.beginning
        digest = beginning.digest or uuid4().hex
        name = SessionName(caller.tenant, caller.owner, session_name(conversation, digest))
        is_cached = beginning.is_unique
        session = self._sessions.get(name) if is_cached else OpenSession(name, is_provisional=True)
        session.recorded_as = session_name(conversation, beginning.first or digest)
        return session

    async def _named(
        self, request: ClientRequest, caller: ProxyCaller, conversation: Conversation
    ) -> str | None:
        """The name of a session: by the response that a request continues, or by what the client says."""
        named = None
        if conversation.previous_id:
            async with self._database.calling():
                core = Caller(await self._core(caller), self._scope(caller))
                named = await session_of_response(core.database, core.scope, conversation.previous_id)
        return named or identify(request.header_values, conversation)

    async def _core(self, caller: ProxyCaller) -> Core:
        return await self._tenants.core(caller.key.tenant if caller.key is not None else caller.tenant)

    async def _stored_version(self, caller: ProxyCaller, name: SessionName) -> StoredVersion:
        async with self._database.calling():
            core = await self._core(caller)
            return await paging.stored_version(Caller(core, self._scope(caller)), name)

    async def _open(
        self, session: OpenSession, caller: ProxyCaller, looked_up: LookedUp
    ) -> tuple[Caller, AsyncMemory]:
        """The memory of the caller, and the session loaded."""
        scope = self._scope(caller)
        stored = await looked_up.version_of(session.name)
        async with self._database.calling():
            core = await self._core(caller)
            await paging.load(session, Caller(core, scope), self._paging, stored)
        return Caller(core, scope), memory_on_core(core, scope)

    def _scope(self, caller: ProxyCaller) -> Scope:
        key_id = caller.key.key.key_id if caller.key is not None else None
        return Scope(caller.owner, self._channel, PROCESS, key_id)

    async def _decide(
        self, session: OpenSession, core: Caller, memory: AsyncMemory, api: Api, read: ReadBody
    ) -> tuple[PagingDecision | None, Body]:
        """Decide, commit what later requests must repeat, and make the body for the provider.

        The decision is None if only what was sent is repeated.
        """
        conversation, compaction = read.conversation, read.compaction
        if compaction is not None:
            changes = paging.changes_of(session, conversation)
            if not session.has_begun or not compaction.needs_rewriting(changes):
                raise compaction
            return None, await asyncio.to_thread(api.rewrite, read.body, changes)
        if not session.has_begun:
            await self._begin(session, core, memory, conversation)
        if conversation.previous_id:
            return None, await asyncio.to_thread(_rewritten, session, api, read)
        if read.is_quick and not paging.may_page(session, conversation):
            decision, body = _decided(session, api, read)
        else:
            decision, body = await asyncio.to_thread(_decided, session, api, read)
        if decision.must_be_committed and not session.is_provisional:
            async with self._database.calling():
                await paging.save(session, core, conversation, decision.step, cut=decision.cut)
            return replace(decision, is_committed=True), body
        return decision, body

    async def _begin(
        self, session: OpenSession, core: Caller, memory: AsyncMemory, conversation: Conversation
    ) -> None:
        """Choose what every request of a session starts with."""
        opening = await recall_opening(memory, session, conversation, max_tokens=self._opening_tokens)
        tools = offered_tools(conversation.tool_names)
        async with self._database.calling():
            await paging.begin(session, core, conversation, opening=opening, tools=tools)

    async def _act(
        self, request: ClientRequest, endpoint: ProviderEndpoint, prepared: Prepared, raw: bytes
    ) -> None:
        """Send the changed request, and record the turn if it ends as it should."""
        self._counts.changed[prepared.api.name] += 1
        turn = ActiveTurn(prepared, self._database, self._counts, self._sessions)
        rounds = Rounds(
            request,
            self._forwarder,
            endpoint.provider,
            _headers(prepared, request),
            prepared.api.relay(prepared.body, prepared.hidden, previous_id=prepared.conversation.previous_id),
            prepared.conversation.is_streamed,
            turn.answer,
            turn.store,
        )
        try:
            outcome = await rounds.run(prepared.body)
        except RefusedError:
            self._counts.refused[prepared.api.name] += 1
            await self._pass_through(request, endpoint, raw, "the provider refused the changed request")
            return
        if outcome is not None and prepared.is_recorded:
            await self._later(turn.record(outcome))

    async def _pass_through(
        self, request: ClientRequest, endpoint: ProviderEndpoint, raw: bytes, reason: str
    ) -> None:
        """Send the original bytes."""
        api = endpoint.api or "other"
        self._counts.count_passed(api, reason)
        logger.info("%s request passed unchanged: %s", api, reason)
        async with self._forwarder.response(
            endpoint.provider,
            request.method,
            (request.path, request.query),
            request_headers(request.headers),
            raw,
        ) as response:
            await relay_verbatim(response, request.send)

    async def _later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do work that the client does not wait for, unless too much of it is waiting."""
        task = asyncio.create_task(work, name="mnemic proxy recording")
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        if len(self._background) > BACKGROUND_MAX:
            await task


def _decided(session: OpenSession, api: Api, read: ReadBody) -> tuple[PagingDecision, Body]:
    return paging.decide(session, read.conversation), _rewritten(session, api, read)


def _rewritten(session: OpenSession, api: Api, read: ReadBody) -> Body:
    return api.rewrite(read.body, paging.changes_of(session, read.conversation))


def _headers(prepared: Prepared, request: ClientRequest) -> RawHeaders:
    """The headers of the client, with those that the changed body needs."""
    extra = prepared.api.extra_headers(prepared.body, request.header_values)
    kept = without(rewritten_headers(request.headers), *(name.encode() for name in extra))
    return [*kept, *((name.encode(), value.encode("latin-1")) for name, value in extra.items())]
