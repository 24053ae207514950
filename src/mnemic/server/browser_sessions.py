"""Sessions of browsers: the cookie, signing in and out, and which requests a browser may send.

The secret of a session is in a cookie that scripts cannot read and that is sent below `/ui` only. Signing in
always makes a new secret, so nobody can plant one that becomes valid later, and ends the session that the
browser had before. Failed attempts are limited for each client address; they cost one bounded lookup each and
are logged, not audited, because a wrong key belongs to no tenant.

Other sites cannot use a session: every request that changes something must say that it comes from a page of
this server (`check_same_origin`).
"""

import hmac
import logging
from collections.abc import Awaitable
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from mnemic.db.database import TenantDatabase
from mnemic.errors import ForbiddenError, NotAuthenticatedError
from mnemic.govern import sessions
from mnemic.govern.sessions import AuthenticatedSession, NewSession
from mnemic.server.authentication import Authenticator
from mnemic.server.rate_limit import RateLimiter

ROOT = "/ui"
"""The path of the dashboard, and of the cookie."""
COOKIE = "mnemic_session"
"""The name of the cookie, followed by the port: browsers send the cookies of all ports of a host to each."""
FAILED_SIGN_INS_PER_MINUTE = 120
"""Failed attempts to sign in from one address, a sixth of them at once."""
SECRET_MAX_CHARACTERS = 512
PORT_MAX_DIGITS = 5
CROSS_ORIGIN = (
    "This form was not sent by a page of this dashboard, so nothing was done. "
    "Open the dashboard and try again."
)
SAFE_METHODS = ("GET", "HEAD")
"""Requests with these methods change nothing, except that a link opens a session."""

logger = logging.getLogger("mnemic.server")

Found = TypeVar("Found")


class BrowserSessions:
    """Signs browsers in and out, and finds the session of a request."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._failures = RateLimiter(
            FAILED_SIGN_INS_PER_MINUTE, holder="This address", verb="fail to sign in"
        )

    async def session_of(self, request: Request) -> AuthenticatedSession:
        """The session of a request, looked up once; NotAuthenticatedError if it has none that is open."""
        state = request.scope["state"]
        if "found_key" not in state:
            state["found_key"] = await self._authenticator.find_session(_secret_of(request))
        found: AuthenticatedSession = state["found_key"]
        return found

    async def recheck(self, request: Request) -> None:
        """Look the session of a request up again; NotAuthenticatedError if it has ended."""
        await self._authenticator.find_session(_secret_of(request))

    async def sign_in(self, request: Request, key: str) -> NewSession:
        """Open a session by an API key; NotAuthenticatedError if the key is not valid."""
        check_same_origin(request)
        self._failures.take(_address(request))
        found = await self._counted(request, self._authenticator.find(key[:SECRET_MAX_CHARACTERS]))
        opened = await sessions.open_session(
            TenantDatabase(self._authenticator.database, found.tenant),
            found.key,
            request_id=request.state.request_id,
        )
        await self._end_previous(request)
        return opened

    async def sign_in_by_link(self, request: Request, secret: str) -> NewSession:
        """Open a session by a link, which is used up; NotAuthenticatedError if it is not valid."""
        check_own_visit(request)
        self._failures.take(_address(request))
        used = sessions.use_link(
            self._authenticator.database, secret[:SECRET_MAX_CHARACTERS], request_id=request.state.request_id
        )
        opened = await self._counted(request, self._authenticator.bounded(used))
        await self._end_previous(request)
        return opened

    async def sign_out(self, request: Request) -> None:
        """End the session of a request, if it has one."""
        check_same_origin(request)
        await self._end_previous(request)

    async def _counted(self, request: Request, attempt: Awaitable[Found]) -> Found:
        """The result of an attempt to sign in; only a failed one counts."""
        try:
            found = await attempt
        except NotAuthenticatedError:
            logger.warning("sign-in failed from %s", _address(request))
            raise
        self._failures.give_back(_address(request))
        return found

    async def _end_previous(self, request: Request) -> None:
        try:
            session = await self._authenticator.find_session(_secret_of(request))
        except NotAuthenticatedError:
            return
        await sessions.end_session(
            TenantDatabase(self._authenticator.database, session.tenant),
            session,
            request_id=request.state.request_id,
        )


def set_cookie(response: Response, request: Request, session: NewSession) -> None:
    """Give the secret of a session to the browser, for as long as it can last."""
    left = session.expires_at - datetime.now(UTC)
    response.set_cookie(
        cookie_name(request, COOKIE),
        session.secret,
        max_age=max(0, int(left.total_seconds())),
        path=ROOT,
        httponly=True,
        samesite="lax",
        secure=came_over_https(request),
    )


def delete_cookie(response: Response, request: Request) -> None:
    """Let the browser forget its secret."""
    response.delete_cookie(cookie_name(request, COOKIE), path=ROOT, httponly=True, samesite="lax")


def cookie_name(request: Request, name: str) -> str:
    """The name of a cookie of this server: with the port that the browser asked, if it named one.

    So two servers on one host do not replace each other's cookies.
    """
    _, colon, port = request.headers.get("host", "").rpartition(":")
    is_port = colon and port.isascii() and port.isdecimal() and len(port) <= PORT_MAX_DIGITS
    return f"{name}_{port}" if is_port else name


def signature(request: Request, text: str) -> str:
    """Proves that a text was written for the session of a request: only who has its secret can sign.

    Other servers on the same host, whose cookies a browser does not tell from ours, cannot.
    """
    return hmac.digest(_secret_of(request).encode(), text.encode(), "sha256").hex()


def came_over_https(request: Request) -> bool:
    """Whether the browser uses HTTPS: here, or as its `Origin` says at a proxy in front of this server."""
    return request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")


def check_same_origin(request: Request) -> None:
    """ForbiddenError unless a request that changes something comes from a page of this server.

    Browsers say so in `Sec-Fetch-Site`. Where they do not send it (plain HTTP to another machine), `Origin`
    must name the host that the request was sent to. A request with neither is refused.
    """
    if request.method in SAFE_METHODS:
        return
    sites = request.headers.getlist("sec-fetch-site")
    if sites:
        if sites != ["same-origin"]:
            raise ForbiddenError(CROSS_ORIGIN)
        return
    origin, host = request.headers.get("origin", ""), request.headers.get("host", "")
    if not host or urlsplit(origin).netloc.lower() != host.lower():
        raise ForbiddenError(CROSS_ORIGIN)


def check_own_visit(request: Request) -> None:
    """ForbiddenError if a link is used from another machine, or by a browser that only looks ahead."""
    headers = request.headers
    if "prefetch" in headers.get("sec-purpose", "") + headers.get("purpose", ""):
        raise ForbiddenError("This link opens a session when it is visited, not before.")
    if not _is_loopback(_address(request)):
        raise ForbiddenError(
            "This link works only on the machine of the server. Sign in with an API key instead."
        )


def _secret_of(request: Request) -> str:
    """The secret in the only cookie of its name; NotAuthenticatedError if there is none, or several.

    Several come from another site of the same domain, which must not choose the session.
    """
    wanted = cookie_name(request, COOKIE)
    given = [
        value
        for header in request.headers.getlist("cookie")
        for name, _, value in (part.strip().partition("=") for part in header.split(";"))
        if name == wanted
    ]
    if len(given) != 1:
        raise NotAuthenticatedError("Sign in first.")
    return given[0][:SECRET_MAX_CHARACTERS]


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _address(request: Request) -> str:
    return request.client.host if request.client is not None else ""
