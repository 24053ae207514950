"""Mounts the dashboard on the server's app: pages, static files, and errors as pages.

It comes behind the middleware of the server. Whatever fails below `/ui`, in a view, in a form or before a
route was found, becomes a page that says what is wrong (`error_page`); a visitor who is not signed in is sent
to the sign-in page.
"""

from collections.abc import Awaitable, Callable

from fastapi import Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse
from starlette.routing import Route

from mnemic.dashboard.page_list import PAGES
from mnemic.dashboard.pages import Page, Redirected, Shown, View
from mnemic.dashboard.rendering import redirect, render, render_alone
from mnemic.dashboard.sign_in import sign_in_routes
from mnemic.dashboard.static_files import ROOT as STATIC
from mnemic.dashboard.static_files import serve_static
from mnemic.dashboard.visit import ROOT, Visit, visit_of
from mnemic.errors import NotAuthenticatedError
from mnemic.sdk.http.surface import ROUTES
from mnemic.server.app import ServerApp
from mnemic.server.authorisation import authorise, may
from mnemic.server.browser_sessions import BrowserSessions, check_same_origin
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
            endpoint = _endpoint(page, view, server_app, browser_sessions)
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


def _endpoint(page: Page, view: View, server_app: ServerApp, browser_sessions: BrowserSessions) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        check_same_origin(request)
        found = await browser_sessions.session_of(request)
        authenticator = server_app.authenticator
        with authenticator.requests.held(found), authenticator.form_bytes.growing(found) as take:
            visit = await visit_of(request, server_app, browser_sessions)
            visit.on_form_part = take
            visit.page = page.name
            request.state.visit = visit
            return await _answer(visit, page, view)

    return endpoint


async def _answer(visit: Visit, page: Page, view: View) -> Response:
    """Run a view, and turn its answer into a response."""
    authorise(visit.key, ROUTES[view.call])
    if page.needs_owner and not visit.owner:
        return render(visit, PAGES, Shown("no_owner.html", {"page": page}))
    answer = await view.run(visit)
    if isinstance(answer, Shown):
        await _read_badges(visit)
        return render(visit, PAGES, answer)
    if isinstance(answer, Redirected):
        return redirect(visit, answer)
    return answer


async def _read_badges(visit: Visit) -> None:
    """Read the texts of the navigation, which only a whole page has, unless the view has read them."""
    if visit.fragment or not visit.owner:
        return
    for page in PAGES:
        if page.badge is not None and page.name not in visit.badges and visit.may(page.call):
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
