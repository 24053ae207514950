"""Requests to the provider, and its responses, byte for byte.

The host comes from the settings. Neither side's bytes are interpreted here: a compressed response stays
compressed. A response that ends too early ends the client's connection, too, so that it sees the same.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
from starlette.types import Send

from mnemic.errors import ConfigurationError
from mnemic.proxy.endpoints import Provider
from mnemic.proxy.errors import UpstreamError
from mnemic.proxy.headers import RawHeaders, response_headers

CONNECT_TIMEOUT_S = 15.0
KEEP_ALIVE_S = 30.0
IDLE_CONNECTIONS_MAX = 100
VERSION_SUFFIX = "/v1"


class UpstreamBrokenError(Exception):
    """The provider's response broke off after it had begun."""


@dataclass(frozen=True, slots=True)
class ProviderUrl:
    """Where the requests for a provider go."""

    origin: str
    path: str
    """Folder below which the provider's paths are, without `/v1`; usually empty."""

    def target(self, path: bytes, query: bytes) -> bytes:
        """Path and query for the provider, exactly as the client sent them."""
        return self.path.encode() + path + (b"?" + query if query else b"")


def provider_url(setting: str, value: str) -> ProviderUrl:
    """The URL of a setting; ConfigurationError if it cannot be used."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ConfigurationError(
            f"{setting} must be a URL such as https://api.example.com, without a query. Its value cannot be "
            "used."
        )
    if "@" in parts.netloc:
        raise ConfigurationError(f"{setting} must not hold a name or a password: clients send their own key.")
    path = parts.path.rstrip("/")
    return ProviderUrl(f"{parts.scheme}://{parts.netloc}", path.removesuffix(VERSION_SUFFIX))


class Forwarder:
    """Sends requests to the providers, over connections that it keeps open."""

    def __init__(self, urls: Mapping[Provider, ProviderUrl], *, pause_s: float, connections_max: int) -> None:
        """`pause_s` is the longest wait for the next bytes of a response."""
        self._urls = urls
        self._timeout = httpx.Timeout(pause_s, connect=CONNECT_TIMEOUT_S).as_dict()
        self._transport = httpx.AsyncHTTPTransport(
            verify=httpx.create_ssl_context(),
            trust_env=False,
            limits=httpx.Limits(
                max_connections=connections_max,
                max_keepalive_connections=IDLE_CONNECTIONS_MAX,
                keepalive_expiry=KEEP_ALIVE_S,
            ),
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    @asynccontextmanager
    async def response(
        self,
        provider: Provider,
        method: str,
        target: tuple[bytes, bytes],
        headers: RawHeaders,
        content: bytes | AsyncIterator[bytes] | None,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request and open the response to it; `target` is path and query.

        UpstreamError if there is no response. Leaving the block early closes the connection to the provider.
        """
        url = self._urls[provider]
        request = httpx.Request(
            method,
            url.origin,
            headers=headers,
            content=content,
            extensions={"timeout": self._timeout, "target": url.target(*target)},
        )
        try:
            response = await self._transport.handle_async_request(request)
        except httpx.TimeoutException as error:
            raise UpstreamError(504, f"The proxy got no response from {url.origin} in time.") from error
        except httpx.HTTPError as error:
            raise UpstreamError(
                502,
                f"The proxy cannot reach {url.origin} ({type(error).__name__}). Check its network, and "
                "MNEMIC_PROXY_ANTHROPIC_URL or MNEMIC_PROXY_OPENAI_URL.",
            ) from error
        try:
            yield response
        finally:
            await response.aclose()


async def relay_verbatim(response: httpx.Response, send: Send) -> None:
    """Send a response on to the client, as it arrives and unchanged."""
    await start_response(send, response.status_code, response_headers(response.headers.raw))
    async for piece in raw_pieces(response):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def raw_pieces(response: httpx.Response) -> AsyncIterator[bytes]:
    """The bytes of a response as they arrive; UpstreamBrokenError if it breaks off."""
    try:
        async for piece in response.stream:  # type: ignore[union-attr] # it is an asynchronous response
            yield piece
    except httpx.HTTPError as error:
        raise UpstreamBrokenError(type(error).__name__) from error


async def start_response(send: Send, status: int, headers: RawHeaders) -> None:
    """Send status and headers to the client."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
