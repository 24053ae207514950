"""Mounts the dashboard on the server's app: pages, static files, and errors as pages.

It comes behind the middleware of the server. Whatever fails below `/ui`, in a view, in a form or before a
route was found, becomes a page that says what is wrong (`error_page`); a visitor who is not signed in is sent
to the sign-in page.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial

from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from mnemic.dashboard.early_head import may_send_early, send_head_first
from mnemic.dashboard.page_list import PAGES
from mnemic.dashboard.pages import Answer, Page, Redirected, Shown, View
from mnemic.dashboard.rendering import redirect, render, render_alone
from mnemic.dashboard.sign_in import sign_in_routes
from mnemic.dashboard.static_files import ROOT as STATIC
from mnemic.dashboard.static_files import serve_static
from mnemic.dashboard.visit import ROOT, Visit, visit_of
from mnemic.errors import NotAuthenticatedError
from mnemic.sdk.http.surface import ROUTES
from mnemic.server.app import ServerApp
from mnemic.server.authorisation import authorise, may
from mnemic.server.browser_sessions import SAFE_METHODS, BrowserSessions, check_same_origin
from mnemic.server.problems import Problem
from mnemic.server.stream import MEDIA_TYPE as EVENT_STREAM

Endpoint = Callable[[Request], Awaitable[Response]]


def mount_dashboard(server_app: ServerApp) -> None:
    """Serve the dashboard at `/ui`."""
    routes = server_app.app.router.routes
    browser_sessions = BrowserSessions(server_app.authenticator)
    routes.append(Route(f"{STATIC}/{{name}}", serve_static))
    routes.extend(sign_in_routes(browser_sessions, server_app.authenticator))
    for page in PAGES:
        for view in page.views:
            endpoint = _Endpoint(page, view, server_app, browser_sessions)
            routes.append(Route(ROOT + view.path, endpoint, methods=[view.method]))
    routes.append(Route(ROOT, _front(browser_sessions), methods=["GET"]))
    routes.append(Route(f"{ROOT}/{{rest:path}}", _nothing_here))
    server_app.app.state.error_pages = {ROOT: error_page}


def error_page(request: Request, problem: Problem) -> Response:
    """The page for a request that failed."""
    if problem.error == NotAuthenticatedError.__name__:
        if request.headers.get("accept") == EVENT_STREAM:
            # Tells the browser not to ask again; it would follow a redirect and find no events there.
            return Response(status_code=204)
        return RedirectResponse(f"{ROOT}/sign-in", 303)
    visit: Visit | None = getattr(request.state, "visit", None)
    context = {"problem": problem}
    if visit is None:
        return render_alone(request, "failed.html", context, status=problem.status)
    return render(visit, PAGES, Shown("failed.html", context, status=problem.status))


@dataclass(frozen=True)
class _Endpoint:
    """Answers the requests of a view. An ASGI app, because a page may be sent in two parts."""

    page: Page
    view: View
    server_app: ServerApp
    browser_sessions: BrowserSessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive, send)
        check_same_origin(request)
        found = await self.browser_sessions.session_of(request)
        authenticator = self.server_app.authenticator
        with authenticator.requests.held(found), authenticator.form_bytes.growing(found) as take:
            visit = await visit_of(request, self.server_app, self.browser_sessions)
            visit.on_form_part = take
            visit.page = self.page.name
            request.state.visit = visit
            answer = partial(_answer, visit, self.page, self.view)
            if self._is_first_view() and may_send_early(visit) and visit.may(self.view.call):
                await send_head_first(request, answer, send)
                return
            response = await answer()
        await response(scope, receive, send)

    def _is_first_view(self) -> bool:
        return self.view is self.page.views[0]


async def _answer(visit: Visit, page: Page, view: View) -> Response:
    """Run a view, and turn its answer into a response."""
    reads = visit.request.method in SAFE_METHODS
    if not reads or not (visit.owner or page.reads_owners):
        await visit.read_owners()
    authorise(visit.key, ROUTES[view.call])
    if page.needs_owner and not visit.owner:
        return render(visit, PAGES, Shown("no_owner.html", {"page": page}))
    is_framed = reads and view.has_frame and not visit.is_part
    answer = await (_beside_frame(visit, page, view) if is_framed else view.run(visit))
    if isinstance(answer, Shown):
        await _read_badges(visit)
        return render(visit, PAGES, answer)
    if isinstance(answer, Redirected):
        return redirect(visit, answer)
    return answer


async def _beside_frame(visit: Visit, page: Page, view: View) -> Answer:
    """Run a view that reads; what the frame around it shows is read at the same time."""
    without = () if visit.fragment else page.reads_badges_of
    answer, owners, badges = await asyncio.gather(
        view.run(visit),
        visit.read_owners(),
        _read_badges(visit, without=without),
        return_exceptions=True,
    )
    if isinstance(answer, BaseException):
        raise answer
    for failed in (owners, badges):
        if failed is not None:
            raise failed
    return answer


async def _read_badges(visit: Visit, *, without: Collection[str] = ()) -> None:
    """Read the texts of the navigation, which only a whole page has, unless the view has read them."""
    if visit.fragment or not visit.owner:
        return
    for page in PAGES:
        is_known = page.name in visit.badges or page.name in without
        if page.badge is not None and not is_known and visit.may(page.call):
            visit.badges[page.name] = await page.badge(visit)


def _front(browser_sessions: BrowserSessions) -> Endpoint:
    async def front(request: Request) -> Response:
        """`/ui` itself leads to the first page that the visitor may see."""
        found = await browser_sessions.session_of(request)
        first = next(page for page in PAGES if may(found.key, page.call))
        return RedirectResponse(f"{ROOT}{first.views[0].path}", 303)

    return front


async def _nothing_here(request: Request) -> Response:
    raise HTTPException(404)
