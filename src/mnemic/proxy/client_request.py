"""One request of a client: what was sent, and the response to it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from mnemic.db.task_cancellation import cancel_and_wait
from mnemic.proxy.callers import split_key
from mnemic.proxy.endpoints import Provider, ProviderEndpoint, endpoint_of, provider_of_error
from mnemic.proxy.errors import ProxyError, error_body
from mnemic.proxy.headers import RawHeaders
from mnemic.proxy.request_bodies import ClientGoneError, next_piece


@dataclass
class ClientRequest:
    """A request, without its body. `path` is without the proxy's own prefix and key."""

    method: str
    path: bytes
    query: bytes
    headers: RawHeaders = field(repr=False)
    token: str = field(repr=False)
    receive: Receive
    _send: Send
    has_started: bool = False
    """Whether status and headers of the response were sent."""
    body_read: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def endpoint(self) -> ProviderEndpoint | None:
        """Where it goes; None if no provider has this path."""
        return endpoint_of(self.method, self.path.decode("latin-1"), self.header_names)

    @property
    def provider(self) -> Provider:
        """In whose shape errors are written."""
        return provider_of_error(self.path.decode("latin-1"), self.header_names)

    @property
    def header_names(self) -> frozenset[str]:
        """Names of all headers, in lower case."""
        return frozenset(name.decode("latin-1").lower() for name, _ in self.headers)

    @property
    def header_values(self) -> dict[str, str]:
        """Headers by name in lower case; of a repeated one the last."""
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self.headers}

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        self.has_started = self.has_started or message["type"] == "http.response.start"
        await self._send(message)

    async def send_error(self, error: ProxyError) -> None:
        """Send an error of the proxy itself, in the shape of the API."""
        body = error_body(self.provider, error.status, error.message)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if error.retry_after_s is not None:
            headers.append((b"retry-after", str(max(1, round(error.retry_after_s))).encode()))
        if not self.body_read.is_set():
            # The rest of the body would be taken for the next request.
            headers.append((b"connection", b"close"))
        await self.send({"type": "http.response.start", "status": error.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, as it arrives."""
        is_last = False
        while not is_last:
            piece, is_last = await next_piece(self.receive)
            yield piece
        self.body_read.set()

    async def while_connected(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the work on a response; it is cancelled when the client disconnects (ClientGoneError)."""
        working = asyncio.create_task(work)
        watching = asyncio.create_task(self._disconnected())
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                raise ClientGoneError
            await working
        finally:
            await cancel_and_wait(watching)
            await cancel_and_wait(working)

    async def _disconnected(self) -> None:
        await self.body_read.wait()
        while (await self.receive())["type"] != "http.disconnect":
            pass


def client_request(scope: Scope, receive: Receive, send: Send, *, prefix: bytes) -> ClientRequest:
    """The request of an ASGI scope, without a prefix of its path."""
    headers: RawHeaders = list(scope["headers"])
    token, path = split_key(scope["raw_path"].partition(b"?")[0].removeprefix(prefix), headers)
    return ClientRequest(scope["method"], path, scope["query_string"], headers, token, receive, send)
