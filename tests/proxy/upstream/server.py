"""The running stand-in."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tests.proxy.upstream.anthropic_api import AnthropicApi, units
from tests.proxy.upstream.api import Answer, Api, Body, Invalid, Reading
from tests.proxy.upstream.canonical import tokens
from tests.proxy.upstream.chat_api import ChatApi
from tests.proxy.upstream.conversations import Conversations, Rewrite
from tests.proxy.upstream.identifiers import Identifiers
from tests.proxy.upstream.prefix_cache import CacheUse
from tests.proxy.upstream.responses_api import ResponsesApi
from tests.proxy.upstream.rules import Rules
from tests.proxy.upstream.script import Failure, Place, Script, Step, resolved, summary
from tests.proxy.upstream.wire import ClientGone, Reply, Request, read_request
from tests.waiting import wait_for

READ_LIMIT_BYTES = 64 * 1024
MODELS = ("claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001", "gpt-5.1", "gpt-5.1-codex", "gpt-4.1")
STORED = "/v1/responses/"
COUNTING, COMPACTING = "/v1/messages/count_tokens", "/responses/compact"


@dataclass
class Received:
    """One request, and what became of it."""

    request: Request
    body: Any = None
    """Parsed; None if it is no JSON."""
    status: int = 0
    problem: str = ""
    """Why it was rejected."""
    place: Place | None = None
    did: str = ""
    """Parts of the response, in a few words."""
    use: CacheUse | None = None
    dropped_thinking: tuple[str, ...] = ()
    sent: bytes = b""
    """The body of the response, as far as it was sent."""
    client_left: bool = False

    @property
    def has_tools(self) -> bool:
        return isinstance(self.body, dict) and bool(self.body.get("tools"))


@dataclass
class Upstream:
    """Answers requests by a script. A test may change `script` and `rules` at any time."""

    script: Script
    rules: Rules = field(default_factory=Rules)
    port: int = 0
    received: list[Received] = field(default_factory=list)
    conversations: Conversations = field(default_factory=Conversations)

    def __post_init__(self) -> None:
        identifiers = Identifiers()
        self._apis: dict[str, Api] = {
            "/v1/messages": AnthropicApi(self, identifiers),
            "/chat/completions": ChatApi(identifiers),
        }
        self._responses = ResponsesApi(identifiers)
        self._apis["/responses"] = self._responses
        self._issued: set[str] = set()
        self._failed: Counter[Place] = Counter()
        self._released = asyncio.Event()
        self._new_id = identifiers.new
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def problems(self) -> list[str]:
        """Why requests were rejected."""
        return [one.problem for one in self.received if one.problem]

    @property
    def rewrites(self) -> list[Rewrite]:
        """Requests that did not append to the one before, and were not announced."""
        return self.conversations.rewrites

    def forget(self) -> None:
        """Forget all requests; ids that were given out stay known, since clients may use them again."""
        self.received.clear()
        self.conversations = Conversations()
        self._failed.clear()
        self._released.clear()

    def turns(self) -> list[Received]:
        """Requests with tools that were answered."""
        return [one for one in self.received if one.has_tools and one.status == 200]

    def begin_epoch(self) -> None:
        """Allow the next rewrite of a prompt."""
        self.conversations.begin_epoch()

    def release(self) -> None:
        """Continue streams that wait."""
        self._released.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side closes it."""
        self._open.add(writer)
        try:
            while request := await read_request(reader):
                await self._respond(request, Reply(reader, writer, self.rules.piece_bytes))
                if writer.is_closing():
                    break
        except (ClientGone, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def aclose(self) -> None:
        """Break all connections, and wait for their ends."""
        self.release()
        for writer in self._open:
            writer.transport.abort()
        await wait_for(lambda: not self._open, what="the connections of the stand-in to end")

    async def _respond(self, request: Request, reply: Reply) -> None:
        received = Received(request)
        self.received.append(received)
        try:
            await self._dispatch(received, reply)
        except (ClientGone, ConnectionError):
            received.client_left = True
            raise
        finally:
            received.sent = bytes(reply.sent)

    async def _dispatch(self, received: Received, reply: Reply) -> None:
        path = received.request.path
        api = next((api for end, api in self._apis.items() if path.endswith(end)), None)
        if STORED in path and received.request.method in ("GET", "DELETE"):
            return await self._send(received, reply, *self._stored(received.request.method, path))
        if received.request.method != "POST":
            return await self._send(received, reply, 200, _models() if path.endswith("/models") else {})
        try:
            received.body = json.loads(received.request.decoded())
        except ValueError:
            received.problem = "The body is not valid JSON."
            return await self._send(
                received, reply, 400, self._apis["/v1/messages"].error(400, received.problem)
            )
        if path.endswith(COUNTING):
            return await self._send(received, reply, 200, {"input_tokens": _count(received.body)})
        if path.endswith(COMPACTING):
            return await self._send(received, reply, 200, self._responses.compact(received.body))
        if api is None:
            return await self._send(received, reply, 404, self._apis["/v1/messages"].error(404, path))
        return await self._answer(api, received, reply)

    def _stored(self, method: str, path: str) -> tuple[int, Body]:
        response_id = path.rpartition("/")[2]
        kept = self._responses.kept.get(response_id)
        if kept is None:
            return 404, self._responses.error(404, f"Response with id '{response_id}' not found.")
        if method == "DELETE":
            del self._responses.kept[response_id]
            return 200, {"id": response_id, "object": "response", "deleted": True}
        return 200, kept

    async def _answer(self, api: Api, received: Received, reply: Reply) -> None:
        headers = {key.lower(): value for key, value in received.request.headers}
        try:
            reading = api.read(received.body, headers, self._issued)
            self._check_window(reading)
            self._check_rewrite(reading)
        except Invalid as invalid:
            received.problem = str(invalid)
            return await self._send(received, reply, 400, api.error(400, str(invalid), invalid.code))
        received.place, received.dropped_thinking = reading.place, reading.dropped_thinking
        step = self.script.step(reading.place, reading.tools)
        if step.failure.status and self._fails(step.failure, reading.place):
            error = api.error(step.failure.status, step.failure.message)
            return await self._send(received, reply, step.failure.status, error, [("retry-after", "0")])
        answer = self._made(api, received, reading, step)
        if received.body.get("stream"):
            return await self._stream(api, received, reply, answer, step.failure)
        return await self._send(received, reply, 200, answer.whole)

    def _made(self, api: Api, received: Received, reading: Reading, step: Step) -> Answer:
        parts = resolved(step.parts, reading.tools)
        use = self._reported(reading, api.cache_use(str(received.body.get("model")), reading.units))
        answer = api.answer(received.body, reading, parts, use)
        self._issued |= answer.ids
        self.conversations.issue([unit.text for unit in reading.units], answer.ids)
        received.did, received.use = summary(parts), use
        return answer

    def _reported(self, reading: Reading, use: CacheUse) -> CacheUse:
        if self.rules.reported_tokens and reading.tools and reading.place.turn >= 2:
            return replace(use, read=self.rules.reported_tokens)
        return use

    def _check_window(self, reading: Reading) -> None:
        total = sum(tokens(unit.text) for unit in reading.units)
        if self.rules.window_tokens and total > self.rules.window_tokens:
            raise Invalid(f"prompt is too long: {total} tokens > {self.rules.window_tokens} maximum")

    def _check_rewrite(self, reading: Reading) -> None:
        """Requests without tools are side requests: they need not repeat anything."""
        if not reading.tools:
            return
        texts = [unit.text for unit in reading.units]
        number = len(self.received) - 1
        found = self.conversations.check(number, texts, reading.ids & self._issued)
        if found is not None and self.rules.rejects_rewrites:
            raise Invalid(str(found))

    def _fails(self, failure: Failure, place: Place) -> bool:
        self._failed[place] += 1
        return self._failed[place] <= failure.times

    async def _stream(
        self, api: Api, received: Received, reply: Reply, answer: Answer, failure: Failure
    ) -> None:
        received.status = 200
        reply.begin_stream([("cache-control", "no-cache"), ("request-id", self._new_id("req"))])
        for number, event in enumerate(answer.events):
            if failure.pause_s:
                await reply.wait(asyncio.Event(), at_most_s=failure.pause_s)
            if number == failure.hold_after:
                await reply.wait(self._released)
            if number == failure.error_after:
                await reply.put(api.error_event(failure.status or 529, failure.message))
                return await reply.end_stream()
            if number == failure.cut_after:
                return await reply.cut()
            await reply.put(event)
        await reply.end_stream()

    async def _send(
        self,
        received: Received,
        reply: Reply,
        status: int,
        body: Body,
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        received.status = status
        await reply.send_json(status, body, [("request-id", self._new_id("req")), *headers])


def _models() -> Body:
    data = [
        {
            "id": name,
            "type": "model",
            "object": "model",
            "display_name": name,
            "created": 0,
            "owned_by": "stand-in",
        }
        for name in MODELS
    ]
    return {"object": "list", "has_more": False, "data": data}


def _count(body: Body) -> int:
    return sum(tokens(unit.text) for unit in units(body))


@asynccontextmanager
async def running_upstream(
    script: Script, rules: Rules | None = None, *, port: int = 0
) -> AsyncIterator[Upstream]:
    """A stand-in on a free port of this machine."""
    upstream = Upstream(script, rules or Rules())
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", port, limit=READ_LIMIT_BYTES)
    async with server:
        upstream.port = server.sockets[0].getsockname()[1]
        try:
            yield upstream
        finally:
            await upstream.aclose()
