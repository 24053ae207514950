"""Pages for people: `/` says what this server is, `/docs` shows its API. Neither needs a key.

Both are self-contained. The Content-Security-Policy allows one style, by its hash, and nothing else: no
script runs, nothing is loaded, no form is sent, no other site can frame them.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from mnemic import __version__
from mnemic.server.docs_page import render_docs

STYLE = files("mnemic.server").joinpath("pages.css").read_text("utf-8")
STYLE_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
}
NAME = "Mnemic"
ABOUT = "The memory of AI agents over HTTP."
LINKS = {"docs": "/docs", "openapi": "/openapi.json", "health": "/healthz", "ready": "/readyz"}


def page_routes(app: FastAPI) -> APIRouter:
    """`/` and `/docs`; they are not part of the API, so the OpenAPI document does not list them."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def root(request: Request) -> Response:
        """Name, version and where to go on: HTML for browsers, JSON for everybody else."""
        if prefers_html(request.headers.get("accept", "")):
            return HTMLResponse(_front_page(), headers={**HEADERS, "Vary": "Accept"})
        content = {"name": NAME, "version": __version__, "about": ABOUT, **LINKS}
        return JSONResponse(content, headers={"Vary": "Accept"})

    docs = cache(lambda: _page(f"{NAME} API", render_docs(app.openapi())))

    @router.get("/docs")
    async def api_docs() -> Response:
        """The API, rendered once."""
        return HTMLResponse(docs(), headers=HEADERS)

    return router


def prefers_html(accept: str) -> bool:
    """Whether an `Accept` header names HTML before JSON; browsers do, `*/*` does not."""
    named = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    wanted = [each for each in named if each in ("text/html", "application/json")]
    return wanted[:1] == ["text/html"]


def _front_page() -> str:
    links = "".join(f"<li><a href='{path}'>{path}</a>: {name}</li>" for name, path in LINKS.items())
    return _page(NAME, f"<h1>{NAME} {escape(__version__)}</h1><p>{ABOUT}</p><ul>{links}</ul>")


def _page(title: str, body: str) -> str:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>{body}</body></html>"
    )
