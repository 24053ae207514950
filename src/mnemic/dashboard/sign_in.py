"""Signing in by an API key or by a one-time link, and out (`mnemic.server.browser_sessions`)."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mnemic.dashboard.forms import read_form
from mnemic.dashboard.rendering import render_alone
from mnemic.dashboard.visit import ROOT
from mnemic.errors import NotAuthenticatedError, TooManyRequestsError
from mnemic.govern.sessions import NewSession
from mnemic.server.authentication import Authenticator
from mnemic.server.browser_sessions import BrowserSessions, delete_cookie, set_cookie
from mnemic.server.database_proof import PATH as PROOF
from mnemic.server.database_proof import answer_challenge

SIGN_IN_MAX_BYTES = 8 << 10
LINK = "link"
"""The field of the URL that holds the secret of a link."""


def sign_in_routes(browser_sessions: BrowserSessions, authenticator: Authenticator) -> list[Route]:
    """The sign-in page, the form that it sends, the form that ends the session; and the server's proof."""

    async def show(request: Request) -> Response:
        secret = request.query_params.get(LINK)
        # HEAD must change nothing, and a link can be used only once.
        if secret is None or request.method != "GET":
            return render_alone(request, "sign_in.html", {"error": None})
        try:
            session = await browser_sessions.sign_in_by_link(request, secret)
        except (NotAuthenticatedError, TooManyRequestsError) as error:
            return _failed(request, error)
        return _signed_in(request, session)

    async def sign_in(request: Request) -> Response:
        key = (await read_form(request, max_bytes=SIGN_IN_MAX_BYTES)).text("key") or ""
        try:
            session = await browser_sessions.sign_in(request, key)
        except (NotAuthenticatedError, TooManyRequestsError) as error:
            return _failed(request, error)
        return _signed_in(request, session)

    async def sign_out(request: Request) -> Response:
        await browser_sessions.sign_out(request)
        response = RedirectResponse(f"{ROOT}/sign-in", 303)
        delete_cookie(response, request)
        return response

    async def prove(request: Request) -> Response:
        return answer_challenge(request, authenticator)

    return [
        Route(f"{ROOT}/sign-in", show, methods=["GET"]),
        Route(f"{ROOT}/sign-in", sign_in, methods=["POST"]),
        Route(f"{ROOT}/sign-out", sign_out, methods=["POST"]),
        Route(PROOF, prove, methods=["GET"]),
    ]


def _signed_in(request: Request, session: NewSession) -> Response:
    response = RedirectResponse(ROOT, 303)
    set_cookie(response, request, session)
    return response


def _failed(request: Request, error: NotAuthenticatedError | TooManyRequestsError) -> Response:
    status = 429 if isinstance(error, TooManyRequestsError) else 401
    return render_alone(request, "sign_in.html", {"error": str(error)}, status=status)
