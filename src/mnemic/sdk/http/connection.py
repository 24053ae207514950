"""The connection to a Mnemic server: one HTTP client, retries of what is safe to repeat, errors translated.

A request is sent at most `ATTEMPTS_MAX` times. It is sent again when the connection failed, or when the
server said that it is busy; in between the link waits, about twice as long each time and never quite the
same, or as long as the server asked for. Reads can be repeated as they are. Writes carry a key by which
the server knows a repetition and answers as it did the first time. A stream is sent once.

The API key goes into one header and nowhere else: into no URL, no message and no log. It is sent over TLS
with a checked certificate, or to this very machine.
"""

import asyncio
import ipaddress
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
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
PAUSE_FIRST_S = 0.2
PAUSE_MAX_S = 5.0
RETRY_AFTER_MAX_S = 30.0
"""A server that asks for more patience than this gets none: the caller should know."""

REQUEST_TIMEOUT_S = 120.0
BATCH_TIMEOUT_S = 3600.0
STREAM_SILENCE_MAX_S = 60.0
"""A stream of events is never silent for longer, since the server sends heartbeats."""

BUSY_STATUSES = frozenset({429, 502, 503, 504})
OWNER_HEADER = "Mnemic-Owner"
CHANNEL_HEADER = "Mnemic-Channel"
PROCESS_HEADER = "Mnemic-Process"

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Outcome:
    """What became of one attempt: a body, or an error and how long to wait before the next, if ever."""

    body: bytes = b""
    error: MnemicError | None = None
    wait_s: float | None = None


class Link:
    """An open connection to a server. Whoever opens it closes it."""

    def __init__(self, settings: Settings) -> None:
        url = server_url(settings)
        if settings.api_key is None:
            raise ConfigurationError(
                "A Mnemic server needs an API key: pass api_key=…, or set MNEMIC_API_KEY. "
                "`mnemic keys create` makes one where the server runs."
            )
        self._server = url.geturl()
        self._client = httpx.AsyncClient(
            base_url=self._server,
            headers={"Authorization": _authorization(settings.api_key.get_secret_value())},
            timeout=httpx.Timeout(REQUEST_TIMEOUT_S, connect=settings.connect_timeout_s),
            limits=httpx.Limits(max_connections=settings.pool_size),
            # A proxy of the environment is for the outside: what goes to this machine stays on it.
            trust_env=not _is_loopback(url),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def send(self, request: Request, scope: Scope | None, *, is_repeatable: bool) -> bytes:
        """Send a request until it is answered; returns the body, or raises what the server raised."""
        headers = _headers(scope) | {"Content-Type": JSON_MEDIA_TYPE}
        if not is_repeatable:
            headers["Idempotency-Key"] = str(new_id())
        attempt = 1
        while (outcome := await self._attempt(request, headers, request.body)).error is not None:
            if outcome.wait_s is None or attempt == ATTEMPTS_MAX:
                raise outcome.error
            await asyncio.sleep(max(outcome.wait_s, _pause_s(attempt)))
            attempt += 1
        return outcome.body

    async def send_lines(self, request: Request, scope: Scope, lines: AsyncIterator[bytes]) -> bytes:
        """Send a stream, once."""
        headers = _headers(scope) | {"Content-Type": LINES_MEDIA_TYPE}
        outcome = await self._attempt(request, headers, lines, timeout_s=BATCH_TIMEOUT_S)
        if outcome.error is not None:
            raise outcome.error
        return outcome.body

    @asynccontextmanager
    async def stream(
        self, request: Request, scope: Scope, headers: dict[str, str]
    ) -> AsyncIterator[AsyncIterator[str]]:
        """The lines of an answer that has no end."""
        timeout = httpx.Timeout(STREAM_SILENCE_MAX_S)
        try:
            async with self._client.stream(
                request.method,
                _relative(request.path),
                params=request.query,
                headers=_headers(scope) | headers,
                timeout=timeout,
            ) as response:
                if not response.is_success:
                    await response.aread()
                    raise error_in(response)
                yield response.aiter_lines()
        except httpx.TransportError as error:
            raise self._unavailable(error) from error

    async def _attempt(
        self,
        request: Request,
        headers: dict[str, str],
        content: bytes | AsyncIterator[bytes] | None,
        *,
        timeout_s: float | None = None,
    ) -> Outcome:
        timeout = httpx.USE_CLIENT_DEFAULT if timeout_s is None else httpx.Timeout(timeout_s)
        try:
            response = await self._client.request(
                request.method,
                _relative(request.path),
                params=request.query,
                headers=headers,
                content=content,
                timeout=timeout,
            )
        except httpx.ReadTimeout as error:
            # It may still be at work on it: asking again would only add to that.
            return Outcome(error=self._unavailable(error))
        except httpx.TransportError as error:
            return Outcome(error=self._unavailable(error), wait_s=0.0)
        if response.is_success:
            return Outcome(body=response.content)
        return Outcome(error=error_in(response), wait_s=_wait_s(response))

    def _unavailable(self, error: httpx.TransportError) -> ServerUnavailableError:
        what = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "cannot be reached"
        unavailable = ServerUnavailableError(
            f"The Mnemic server at {self._server} {what} ({type(error).__name__}). Is it running? "
            "Whether a write reached it is not known; writing the same again is safe."
        )
        unavailable.__cause__ = error
        return unavailable


def server_url(settings: Settings) -> SplitResult:
    """The server's URL, checked; what it must not have is named without repeating it."""
    assert settings.database_url is not None, "whoever calls asked `is_server`"
    try:
        url = urlsplit(settings.database_url.get_secret_value())
        _ = url.port
    except ValueError:
        raise ConfigurationError("The URL of the Mnemic server has a port that is no number.") from None
    if not url.hostname:
        raise ConfigurationError(
            "The URL of the Mnemic server names no host: https://memory.example is right."
        )
    if url.username or url.password or url.query or url.fragment:
        raise ConfigurationError(
            "The URL of a Mnemic server has no user, password, query or fragment: the API key goes into "
            "api_key or MNEMIC_API_KEY."
        )
    if url.scheme == "http" and not _is_loopback(url):
        raise ConfigurationError(
            "http:// would send the API key and all memories unprotected: use https://, or 127.0.0.1 for a "
            "server on this machine."
        )
    return url


def read_answer(adapter: TypeAdapter[Answer], answer: bytes | str) -> Answer:
    """What the server answered; ServerError if that is something else than was asked for."""
    try:
        return adapter.validate_json(answer)
    except ValidationError:
        raise ServerError(
            "The answer cannot be understood: is there a Mnemic server at this URL, and of this version?"
        ) from None


def error_in(response: httpx.Response) -> MnemicError:
    """The error that an answer carries, of the same class and with the same message as on the server."""
    problem = _problem(response)
    detail = problem.get("detail")
    if not isinstance(detail, str):
        told = f"The Mnemic server answered with status {response.status_code} and no reason."
        # Who says that it is busy without saying why stands in front of the server.
        return ServerUnavailableError(told) if response.status_code in BUSY_STATUSES else ServerError(told)
    raised = getattr(errors, str(problem.get("error")), None)
    if raised is errors.TooManyRequestsError:
        return errors.TooManyRequestsError(detail, retry_after_s=_retry_after_s(response) or PAUSE_MAX_S)
    if raised is errors.OwnerRequiredError:
        # The server speaks of headers and fields, which a caller of the SDK does not see.
        return errors.OwnerRequiredError(OWNER_REQUIRED)
    if isinstance(raised, type) and issubclass(raised, MnemicError) and "__init__" not in vars(raised):
        return raised(detail)
    return ServerError(detail)


def _problem(response: httpx.Response) -> dict[str, Any]:
    try:
        problem = json.loads(response.content)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def _wait_s(response: httpx.Response) -> float | None:
    """How long to wait before asking again, at least; None if that would not help."""
    asked_s = _retry_after_s(response)
    if asked_s is not None:
        return asked_s if asked_s <= RETRY_AFTER_MAX_S else None
    return 0.0 if response.status_code in BUSY_STATUSES else None


def _retry_after_s(response: httpx.Response) -> float | None:
    text: str = response.headers.get("Retry-After", "")
    return float(text) if text.isdecimal() else None


def _pause_s(attempt: int) -> float:
    """Twice as long each time, and not the same for all who were turned away together."""
    longest = min(PAUSE_MAX_S, PAUSE_FIRST_S * 2.0 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret depends on it


def _headers(scope: Scope | None) -> dict[str, str]:
    """The scope of the call. Names may have any letters, so they are percent-encoded."""
    if scope is None:
        return {}
    headers = {CHANNEL_HEADER: quote(scope.channel), PROCESS_HEADER: quote(scope.process)}
    return headers | ({OWNER_HEADER: quote(scope.owner)} if scope.owner is not None else {})


def _relative(path: str) -> str:
    """A path below the base URL, which may have a path itself."""
    return path.removeprefix("/")


def _authorization(key: str) -> str:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError("The API key has characters that no key has: it begins with mn_.")
    return f"Bearer {key}"


def _is_loopback(url: SplitResult) -> bool:
    host = url.hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
