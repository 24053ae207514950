"""Sends the head of a page before the page is known.

A browser that has the head loads the style, the scripts and the font while the server still reads what the
page shows. Every whole page begins with the same bytes (`page_start`): they are sent at once, and the rest
when it is rendered.

The status goes out with the head, and it is 200. So this is done only for visitors who are signed in and have
typed nothing that could be wrong (`may_send_early`). What still fails then is the server's fault: the page
says so, and the log has the error. A redirect becomes a refresh in the head, which leads to the same place.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Send

from mnemic.dashboard.notices import COOKIE as NOTICE_COOKIE
from mnemic.dashboard.rendering import HEADERS, environment
from mnemic.dashboard.visit import Visit
from mnemic.server.browser_sessions import cookie_name
from mnemic.server.problems import problem, problem_of
from mnemic.server.request_context import TIMED_OUT

KNOWN_FIELDS = frozenset({"owner"})
"""Fields of the URL that are checked before the head is sent."""


@cache
def page_start() -> bytes:
    """What every whole page begins with."""
    return environment().get_template("start.html").render().encode()


def may_send_early(visit: Visit) -> bool:
    """Whether nothing in this request for a whole page can change the status or the headers any more."""
    request = visit.request
    return (
        request.method == "GET"
        and not visit.fragment
        and {name for name, _ in visit.query.pairs()} <= KNOWN_FIELDS
        # The response to a request with a notice deletes its cookie.
        and cookie_name(request, NOTICE_COOKIE) not in request.cookies
    )


async def send_head_first(request: Request, answer: Callable[[], Awaitable[Response]], send: Send) -> None:
    """Send the start of a page at once, and the rest of the answer when it is there."""
    head = HTMLResponse(headers=HEADERS)
    del head.headers["content-length"]
    await send({"type": "http.response.start", "status": head.status_code, "headers": head.raw_headers})
    await send({"type": "http.response.body", "body": page_start(), "more_body": True})
    try:
        response = await answer()
    except asyncio.CancelledError:
        # The request took too long. Its page ends here; the middleware logs the timeout.
        await send(_rest(problem(request, 504, TIMED_OUT, error="QueryTimeoutError")))
        raise
    except Exception as error:  # noqa: BLE001 (the top of a request: every error becomes a page)
        response = problem_of(request, error)
    await send(_rest(response))


def _rest(response: Response) -> dict[str, object]:
    """The message that ends the page."""
    location = response.headers.get("location")
    if location is not None:
        body = (
            f'<meta http-equiv="refresh" content="0;url={escape(location)}">\n<title>Mnemic</title>'.encode()
        )
    else:
        page = bytes(response.body)
        assert page.startswith(page_start()), "every whole page begins alike"
        body = page[len(page_start()) :]
    return {"type": "http.response.body", "body": body, "more_body": False}
