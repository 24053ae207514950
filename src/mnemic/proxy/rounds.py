"""The responses of the provider to one request of the client, relayed as one response.

A round is one response of the provider. *sent* → (error before the first byte) *relayed verbatim*; →
(complete, calls only hidden tools) *answered* → *sent* again, at most `HIDDEN_ROUNDS_MAX` times; →
(complete otherwise, or the cap is reached) *stored* → *finished*. A response that breaks off, or ends with an
error, reaches the client as it is, and nothing of the turn is stored.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import httpx
from starlette.types import Send

from mnemic.proxy.beginning import ShownTurn
from mnemic.proxy.client_request import ClientRequest
from mnemic.proxy.endpoints import Provider
from mnemic.proxy.errors import UpstreamError
from mnemic.proxy.event_stream import EventStream
from mnemic.proxy.forwarding import (
    Forwarder,
    UpstreamBrokenError,
    raw_pieces,
    relay_verbatim,
    start_response,
)
from mnemic.proxy.headers import RawHeaders, first, response_headers, without
from mnemic.proxy.json_text import dump_json, load_json
from mnemic.proxy.protocol import Body, Exchange, HiddenCall, Relay, Round

HIDDEN_ROUNDS_MAX = 10
"""Responses in a row that may call nothing but hidden tools; then the turn ends."""
RESPONSE_MAX_BYTES = 64 * 1024**2
"""A response that is not streamed is held whole."""
EVENT_STREAM = "text/event-stream"
JSON = "application/json"
REFUSED = 400
OK = 200

Answer = Callable[[Sequence[HiddenCall]], Awaitable[Mapping[str, str]]]
Store = Callable[[Exchange | None, ShownTurn], Awaitable[None]]


class RefusedError(Exception):
    """The provider refused the changed body, before the client has seen anything."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A turn that ended as it should: its rounds."""

    rounds: tuple[Round, ...]

    @property
    def said(self) -> str:
        """What the assistant said, over all rounds."""
        return "\n\n".join(each.text for each in self.rounds if each.text)


@dataclass
class Rounds:
    """Runs the rounds of one turn."""

    request: ClientRequest
    forwarder: Forwarder
    provider: Provider
    headers: RawHeaders
    relay: Relay
    is_streamed: bool
    answer: Answer
    store: Store
    _head: RawHeaders = field(default_factory=list)
    """Headers of a response that is not streamed."""

    async def run(self, body: Body) -> Outcome | None:
        """Relay a turn to its end; None if it has none: an error, which the client has got.

        RefusedError if the provider refuses the first body, and the client has got nothing.
        """
        rounds: list[Round] = []
        while True:
            ended = await self._round(body, is_first=not rounds)
            if ended is None:
                return None
            rounds.append(ended)
            is_hidden_only = bool(ended.hidden) and not ended.calls_client
            if not is_hidden_only or len(rounds) > HIDDEN_ROUNDS_MAX:
                break
            body = self.relay.continued(await self.answer(ended.hidden))
        results = await self.answer(rounds[-1].hidden) if rounds[-1].hidden else {}
        await self.store(self.relay.exchange(results), self.relay.shown())
        await self._finish()
        return Outcome(tuple(rounds))

    async def _round(self, body: Body, *, is_first: bool) -> Round | None:
        """One response; None if the turn ended with an error."""
        try:
            async with self.forwarder.response(
                self.provider,
                self.request.method,
                (self.request.path, self.request.query),
                self.headers,
                dump_json(body),
            ) as response:
                return await self._relayed(response, is_first=is_first)
        except UpstreamError as error:
            if not self.request.has_started:
                raise
            await self._fail(error.status, error.message.encode())
            return None

    async def _relayed(self, response: httpx.Response, *, is_first: bool) -> Round | None:
        if response.status_code != OK:
            if is_first and response.status_code == REFUSED:
                raise RefusedError
            await self._relay_error(response)
            return None
        if not self.is_streamed:
            return await self._take_whole(response)
        if not first(response.headers.raw, b"content-type").startswith(EVENT_STREAM):
            await self._relay_error(response)
            return None
        if not self.request.has_started:
            headers = without(response_headers(response.headers.raw), b"content-length", b"content-encoding")
            await start_response(self.request.send, OK, headers)
        return await self._relay_stream(response)

    async def _relay_stream(self, response: httpx.Response) -> Round | None:
        events, broken = EventStream(), None
        try:
            async for piece in _decoded(response):
                await self._send(b"".join([self.relay.feed(event) for event in events.feed(piece)]))
        except UpstreamBrokenError as error:
            broken = error
        ended = self.relay.end_round()
        if ended.is_complete and broken is None:
            return ended
        # The client gets all that came, and sees the same end.
        await self._send(self.relay.finish() + events.rest)
        if broken is not None:
            raise broken
        await self._end()
        return None

    async def _take_whole(self, response: httpx.Response) -> Round | None:
        raw = await _read(response)
        self._head = without(response_headers(response.headers.raw), b"content-length", b"content-encoding")
        try:
            body = load_json(raw)
        except ValueError:
            body = None
        if isinstance(body, dict):
            self.relay.whole(body, raw)
            return self.relay.end_round()
        await self._send_whole(raw)
        return None

    async def _relay_error(self, response: httpx.Response) -> None:
        """An error of the provider: verbatim if nothing was sent, else as an event of the stream."""
        if not self.request.has_started:
            await relay_verbatim(response, self.request.send)
        else:
            await self._fail(response.status_code, await _read(response))

    async def _fail(self, status: int, body: bytes) -> None:
        await self._send(self.relay.fail(status, body))
        await self._end()

    async def _finish(self) -> None:
        if not self.is_streamed:
            await self._send_whole(self.relay.finish())
            return
        await self._send(self.relay.finish())
        await self._end()

    async def _send_whole(self, body: bytes) -> None:
        length = (b"content-length", str(len(body)).encode())
        await start_response(self.request.send, OK, [*self._head, length])
        await self._send(body)
        await self._end()

    async def _send(self, data: bytes) -> None:
        if data:
            await self.request.send({"type": "http.response.body", "body": data, "more_body": True})

    async def _end(self) -> None:
        await self.request.send({"type": "http.response.body", "body": b"", "more_body": False})


async def relay_shown(response: httpx.Response, send: Send, shown: Callable[[Body], Body]) -> None:
    """Send a JSON object on to the client, changed; anything else verbatim."""
    is_json = first(response.headers.raw, b"content-type").startswith(JSON)
    if response.status_code != OK or not is_json:
        await relay_verbatim(response, send)
        return
    raw = await _read(response)
    try:
        body = load_json(raw)
    except ValueError:
        body = None
    data = dump_json(shown(body)) if isinstance(body, dict) else raw
    headers = without(response_headers(response.headers.raw), b"content-length", b"content-encoding")
    await start_response(send, OK, [*headers, (b"content-length", str(len(data)).encode())])
    await send({"type": "http.response.body", "body": data})


def _decoded(response: httpx.Response) -> AsyncIterator[bytes]:
    """The bytes of a response; it is asked for uncompressed, and decompressed if it is not."""
    if first(response.headers.raw, b"content-encoding") in ("", "identity"):
        return raw_pieces(response)
    return _decompressed(response)


async def _decompressed(response: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for piece in response.aiter_bytes():
            yield piece
    except httpx.HTTPError as error:
        raise UpstreamBrokenError(type(error).__name__) from error


async def _read(response: httpx.Response) -> bytes:
    pieces, size = [], 0
    async for piece in _decoded(response):
        size += len(piece)
        if size > RESPONSE_MAX_BYTES:
            raise UpstreamError(502, "The provider's response is too large for the proxy.")
        pieces.append(piece)
    return b"".join(pieces)
