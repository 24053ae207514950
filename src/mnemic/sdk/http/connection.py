"""The connection to a Mnemic server: an HTTP client that retries, and translates errors.

A request is sent at most `ATTEMPTS_MAX` times. It is retried when the connection fails or the server reports
that it is busy, after an exponential backoff with jitter, or after the time in `Retry-After`. Reads are
retried as they are. Writes carry an `Idempotency-Key`, by which the server recognises a retry and returns the
first response again. A stream is sent once.

The API key is sent in one header. It never appears in a URL, an error message or a log, and is sent only over
TLS with certificate verification, or to the loopback interface.
"""

import asyncio
import ipaddress
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from ssl import SSLContext
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, urlsplit

import httpx
from pydantic import TypeAdapter, ValidationError

from mnemic import errors
from mnemic.config import Settings
from mnemic.errors import ConfigurationError, MnemicError, ServerError, ServerUnavailableError
from mnemic.sdk.http.wire import JSON_MEDIA_TYPE, LINES_MEDIA_TYPE, Request
from mnemic.types.identity import new_id
from mnemic.types.scope import OWNER_REQUIRED, Scope

ATTEMPTS_MAX = 4
BACKOFF_FIRST_S = 0.2
BACKOFF_MAX_S = 5.0
RETRY_AFTER_MAX_S = 30.0
"""A longer `Retry-After` is not waited for: the error is raised."""

REQUEST_TIMEOUT_S = 120.0
"""Longest time of one attempt, from the connection to the last byte of the response."""
BATCH_TIMEOUT_S = 3600.0
"""The same for a `retain_many`, whose items may come slowly."""
BATCH_IDLE_MAX_S = 660.0
"""Longest silence during a `retain_many` or an export: the server gives up after ten minutes."""
STREAM_IDLE_MAX_S = 60.0
"""Longer silence means a lost connection, because the server sends heartbeats."""

BUSY_STATUSES = frozenset({429, 502, 503, 504})
OWNER_HEADER = "Mnemic-Owner"
CHANNEL_HEADER = "Mnemic-Channel"
PROCESS_HEADER = "Mnemic-Process"
ROW_COUNTS_HEADER = "Mnemic-Row-Counts"
"""The rows per table of an export, as JSON."""

Parsed = TypeVar("Parsed")


@dataclass(frozen=True)
class AttemptResult:
    """The result of one attempt: a response body, or an error and the delay before a retry, if any."""

    body: bytes = b""
    error: MnemicError | None = None
    retry_delay_s: float | None = None


class HttpConnection:
    """An HTTP client for one Mnemic server, with the API key of the settings."""

    def __init__(self, settings: Settings) -> None:
        url = server_url(settings)
        if settings.api_key is None:
            raise ConfigurationError(
                "A Mnemic server needs an API key: pass api_key=…, or set MNEMIC_API_KEY. "
                "Run `mnemic keys create` on the server to create one."
            )
        self._server = url.geturl()
        self._connect_timeout_s = settings.connect_timeout_s
        self._client = httpx.AsyncClient(
            base_url=self._server,
            headers={"Authorization": _authorization(settings.api_key.get_secret_value())},
            timeout=self._timeout(REQUEST_TIMEOUT_S),
            limits=httpx.Limits(max_connections=settings.pool_size),
            # Requests to this machine must not go through a proxy of the environment.
            trust_env=not _is_loopback(url),
            verify=_loopback_tls() if _is_loopback(url) else True,
        )

    async def aclose(self) -> None:
        """Close the client and its connections."""
        await self._client.aclose()

    async def send(self, request: Request, scope: Scope | None, *, is_idempotent: bool) -> bytes:
        """Send a request, with retries; returns the response body or raises the error of the server."""
        headers = _headers(scope) | {"Content-Type": JSON_MEDIA_TYPE}
        if not is_idempotent:
            headers["Idempotency-Key"] = str(new_id())
        attempt = 1
        while (result := await self._attempt(request, headers, request.body)).error is not None:
            if result.retry_delay_s is None or attempt == ATTEMPTS_MAX:
                raise result.error
            await asyncio.sleep(max(result.retry_delay_s, _backoff_s(attempt)))
            attempt += 1
        return result.body

    async def send_stream(self, request: Request, scope: Scope, lines: AsyncIterator[bytes]) -> bytes:
        """Send a request whose body is a stream, without retries."""
        headers = _headers(scope) | {"Content-Type": LINES_MEDIA_TYPE}
        result = await self._attempt(
            request, headers, lines, timeout_s=BATCH_TIMEOUT_S, idle_max_s=BATCH_IDLE_MAX_S
        )
        if result.error is not None:
            raise result.error
        return result.body

    @asynccontextmanager
    async def stream(
        self, request: Request, scope: Scope, headers: dict[str, str]
    ) -> AsyncIterator[AsyncIterator[str]]:
        """Send a request and give the lines of its streamed response."""
        async with self._response(request, _headers(scope) | headers, STREAM_IDLE_MAX_S) as response:
            yield response.aiter_lines()

    @asynccontextmanager
    async def download(
        self, request: Request, scope: Scope
    ) -> AsyncIterator[tuple[httpx.Headers, AsyncIterator[bytes]]]:
        """Send a request and give the headers of its response, and its content part by part."""
        async with self._response(request, _headers(scope), BATCH_IDLE_MAX_S) as response:
            yield response.headers, response.aiter_bytes()

    @asynccontextmanager
    async def _response(
        self, request: Request, headers: dict[str, str], idle_max_s: float
    ) -> AsyncIterator[httpx.Response]:
        """Send a request, once, and give its response before the body is read."""
        try:
            async with self._client.stream(
                request.method,
                _relative(request.path),
                params=request.query,
                headers=headers,
                timeout=self._timeout(idle_max_s),
            ) as response:
                if not response.is_success:
                    await response.aread()
                    raise error_from_response(response)
                yield response
        except httpx.TransportError as error:
            raise self._unavailable(error, request) from error

    async def _attempt(
        self,
        request: Request,
        headers: dict[str, str],
        content: bytes | AsyncIterator[bytes] | None,
        *,
        timeout_s: float | None = None,
        idle_max_s: float | None = None,
    ) -> AttemptResult:
        limit_s = REQUEST_TIMEOUT_S if timeout_s is None else timeout_s
        try:
            # httpx limits each read and write. A response that drips byte by byte needs a total limit.
            async with asyncio.timeout(limit_s):
                response = await self._client.request(
                    request.method,
                    _relative(request.path),
                    params=request.query,
                    headers=headers,
                    content=content,
                    timeout=self._timeout(idle_max_s or limit_s),
                )
        except (httpx.ReadTimeout, TimeoutError) as error:
            # The server may still be working on the request: a retry would add load.
            return AttemptResult(error=self._unavailable(error, request))
        except httpx.TransportError as error:
            return AttemptResult(error=self._unavailable(error, request), retry_delay_s=0.0)
        if response.is_success:
            return AttemptResult(body=response.content)
        return AttemptResult(error=error_from_response(response), retry_delay_s=_retry_delay_s(response))

    def _timeout(self, idle_max_s: float) -> httpx.Timeout:
        """Limits of each single step of a request."""
        return httpx.Timeout(idle_max_s, connect=self._connect_timeout_s)

    def _unavailable(
        self, error: httpx.TransportError | TimeoutError, request: Request
    ) -> ServerUnavailableError:
        is_late = isinstance(error, httpx.TimeoutException | TimeoutError)
        what = "did not respond in time" if is_late else "cannot be reached"
        message = f"The Mnemic server at {self._server} {what} ({type(error).__name__}). Is it running?"
        if request.method != "GET":
            message += " A write may or may not have been stored; repeating it is safe."
        unavailable = ServerUnavailableError(message)
        unavailable.__cause__ = error
        return unavailable


def server_url(settings: Settings) -> SplitResult:
    """The URL of the server, validated. Error messages never repeat the URL, which may hold a secret."""
    assert settings.database_url is not None, "the settings name a server"
    try:
        url = urlsplit(settings.database_url.get_secret_value())
        _ = url.port
    except ValueError:
        raise ConfigurationError("The port in the URL of the Mnemic server is not a number.") from None
    if not url.hostname:
        raise ConfigurationError(
            "The URL of the Mnemic server has no host. A valid URL is https://memory.example."
        )
    if url.username or url.password or url.query or url.fragment:
        raise ConfigurationError(
            "The URL of a Mnemic server must have no user, password, query or fragment. Pass the API key as "
            "api_key or in MNEMIC_API_KEY."
        )
    if url.scheme == "http" and not _is_loopback(url):
        raise ConfigurationError(
            "http:// would send the API key and all memories unencrypted: use https://, or 127.0.0.1 for a "
            "server on this machine."
        )
    return url


def parse_response(adapter: TypeAdapter[Parsed], response: bytes | str) -> Parsed:
    """The response body as a value; ServerError if it does not have the expected form."""
    try:
        return adapter.validate_json(response)
    except ValidationError:
        raise ServerError(
            "The response is malformed: is there a Mnemic server of this version at this URL?"
        ) from None


def error_from_response(response: httpx.Response) -> MnemicError:
    """The error in a response, with the class and message that the server raised."""
    problem = _problem(response)
    detail = problem.get("detail")
    if not isinstance(detail, str):
        message = f"The Mnemic server returned status {response.status_code} without a reason."
        # A busy status without a reason comes from a proxy in front of the server.
        return (
            ServerUnavailableError(message) if response.status_code in BUSY_STATUSES else ServerError(message)
        )
    raised = getattr(errors, str(problem.get("error")), None)
    if raised is errors.TooManyRequestsError:
        return errors.TooManyRequestsError(detail, retry_after_s=_retry_after_s(response) or BACKOFF_MAX_S)
    if raised is errors.SpendCapError:
        return errors.SpendCapError(detail)
    if raised is errors.ChangeConflictError:
        return errors.ChangeConflictError(detail, conflicts=_conflicts(problem))
    if raised is errors.OwnerRequiredError:
        # The server speaks of headers and fields, which a caller of the SDK does not see.
        return errors.OwnerRequiredError(OWNER_REQUIRED)
    if isinstance(raised, type) and issubclass(raised, MnemicError) and "__init__" not in vars(raised):
        return raised(detail)
    return ServerError(detail)


def _conflicts(problem: dict[str, Any]) -> tuple[str, ...]:
    listed = problem.get("errors")
    given = listed if isinstance(listed, list) else []
    return tuple(str(each.get("message")) for each in given if isinstance(each, dict))


def _problem(response: httpx.Response) -> dict[str, Any]:
    try:
        problem = json.loads(response.content)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def _retry_delay_s(response: httpx.Response) -> float | None:
    """The minimum delay before a retry; None if a retry would not help."""
    requested_s = _retry_after_s(response)
    if requested_s is not None:
        return requested_s if requested_s <= RETRY_AFTER_MAX_S else None
    return 0.0 if response.status_code in BUSY_STATUSES else None


def _retry_after_s(response: httpx.Response) -> float | None:
    text: str = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def _backoff_s(attempt: int) -> float:
    """Exponential backoff with jitter."""
    upper_s = min(BACKOFF_MAX_S, BACKOFF_FIRST_S * 2.0 ** (attempt - 1))
    return upper_s * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret depends on it


def _headers(scope: Scope | None) -> dict[str, str]:
    """The scope as headers, percent-encoded because names may have any characters."""
    if scope is None:
        return {}
    headers = {CHANNEL_HEADER: quote(scope.channel), PROCESS_HEADER: quote(scope.process)}
    return headers | ({OWNER_HEADER: quote(scope.owner)} if scope.owner is not None else {})


def _relative(path: str) -> str:
    """The path relative to the base URL, which may have a path of its own."""
    return path.removeprefix("/")


def _authorization(key: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError("The API key contains invalid characters. A valid key begins with mn_.")
    return f"Bearer {key}"


def _is_loopback(url: SplitResult) -> bool:
    host = url.hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@cache
def _loopback_tls() -> SSLContext:
    """Created once, because reading all certificates takes 20 ms. It does not depend on the environment."""
    return httpx.create_ssl_context(trust_env=False)
