"""Signing in by an API key, and out."""

from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mnemic.dashboard.rendering import render_alone
from mnemic.dashboard.visit import COOKIE, ROOT
from mnemic.errors import NotAuthenticatedError
from mnemic.server.authentication import Authenticator


def sign_in_routes(authenticator: Authenticator) -> list[Route]:
    """The sign-in page, the form that it sends, and the form that ends the session."""

    async def show(request: Request) -> Response:
        return render_alone(request, "sign_in.html", {"error": None})

    async def sign_in(request: Request) -> Response:
        fields = dict(parse_qsl((await request.body()).decode()))
        key = fields.get("key", "").strip()
        try:
            await authenticator.find(key)
        except NotAuthenticatedError as error:
            return render_alone(request, "sign_in.html", {"error": str(error)}, status=401)
        response = RedirectResponse(ROOT, 303)
        response.set_cookie(COOKIE, key, httponly=True, samesite="lax", path=ROOT)
        return response

    async def sign_out(request: Request) -> Response:
        response = RedirectResponse(f"{ROOT}/sign-in", 303)
        response.delete_cookie(COOKIE, path=ROOT)
        return response

    return [
        Route(f"{ROOT}/sign-in", show, methods=["GET"]),
        Route(f"{ROOT}/sign-in", sign_in, methods=["POST"]),
        Route(f"{ROOT}/sign-out", sign_out, methods=["POST"]),
    ]
