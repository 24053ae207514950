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
LINKS = {
    "dashboard": "/ui",
    "docs": "/docs",
    "openapi": "/openapi.json",
    "mcp": "/mcp",
    "health": "/healthz",
    "ready": "/readyz",
}
DESCRIPTIONS = {
    "dashboard": "see, question and correct the memory; sign in with an API key",
    "docs": "the API, for people",
    "openapi": "the API, for programs",
    "mcp": "memory as tools of an agent, over the Model Context Protocol",
    "health": "whether the server runs",
    "ready": "whether it can serve",
}


def page_routes(app: FastAPI) -> APIRouter:
    """`/` and `/docs`; they are not part of the API, so the OpenAPI document does not list them."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    async def root(request: Request) -> Response:
        """Name, version and where to go on: HTML for browsers, JSON for everybody else."""
        if prefers_html(request.headers.get("accept", "")):
            return HTMLResponse(_front_page(_links(app)), headers={**HEADERS, "Vary": "Accept"})
        content = {"name": NAME, "version": __version__, "about": ABOUT, **_links(app)}
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


def _links(app: FastAPI) -> dict[str, str]:
    """Links to what this server has: the dashboard and MCP may not be mounted."""
    mounted = {getattr(route, "path", "") for route in app.router.routes}
    optional = ("dashboard", "mcp")
    return {name: path for name, path in LINKS.items() if name not in optional or path in mounted}


def _front_page(paths: dict[str, str]) -> str:
    shown = {name: f"<a href='{path}'>{path}</a>" for name, path in paths.items()}
    if "mcp" in paths:
        shown["mcp"] = f"<code>{paths['mcp']}</code>"  # It answers agents only.
    links = "".join(f"<li>{each}: {DESCRIPTIONS[name]}</li>" for name, each in shown.items())
    return _page(NAME, f"<h1>{NAME} {escape(__version__)}</h1><p>{ABOUT}</p><ul>{links}</ul>")


def _page(title: str, body: str) -> str:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>{body}</body></html>"
    )
