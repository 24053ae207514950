"""Templates: the Jinja environment, its filters, and the frame around every page.

Everything that a template prints is escaped. Templates hold no script and no style, and the policy that is
sent with every page (`CONTENT_SECURITY_POLICY`) would not run them.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from mnemic.dashboard import charts, word_diff
from mnemic.dashboard.notices import COOKIE as NOTICE_COOKIE
from mnemic.dashboard.notices import read_notice, write_notice
from mnemic.dashboard.pages import GROUPS, Page, Redirected, Shown
from mnemic.dashboard.static_files import address_of
from mnemic.dashboard.visit import FRAGMENT_HEADER, MAIN, ROOT, Visit
from mnemic.server.browser_sessions import came_over_https, cookie_name

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types mnemic"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    # Not no-referrer: with that, browsers send `Origin: null` with forms, which `check_same_origin` refuses.
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Vary": "Cookie, X-Fragment",
}
NOTICE_S = 60

ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
ID_END_CHARACTERS = 8
UNITS_S = ((86_400 * 365, "y"), (86_400 * 30, "mo"), (86_400, "d"), (3_600, "h"), (60, "min"))
TONES = {
    "active": "good",
    "applied": "good",
    "archived": "warn",
    "cancelled": "warn",
    "caution": "warn",
    "critical": "bad",
    "dead": "bad",
    "done": "good",
    "emergency": "bad",
    "failed": "bad",
    "found": "good",
    "merged": "warn",
    "normal": "good",
    "pending_review": "warn",
    "quarantined": "warn",
    "refused": "bad",
    "revoked": "bad",
    "running": "accent",
    "staged": "warn",
    "succeeded": "good",
    "superseded": "warn",
    "warning": "warn",
    "weak": "warn",
}
"""The colour of a state; states that are not here are plain."""


def render(visit: Visit, pages: tuple[Page, ...], shown: Shown) -> Response:
    """The whole page, its inside if the script replaces that, or one of its fragments."""
    fragment = visit.fragment
    name = shown.fragments.get(fragment, shown.template)
    is_part = fragment in shown.fragments
    notice = read_notice(visit.request) if not is_part else None
    context = {
        "visit": visit,
        "layout": "part.html" if visit.is_part else "inside.html" if fragment == MAIN else "frame.html",
        "navigation": _navigation(visit, pages),
        "notice": notice,
        **shown.context,
    }
    response = HTMLResponse(environment().get_template(name).render(context), shown.status, headers=HEADERS)
    if notice is not None:
        response.delete_cookie(cookie_name(visit.request, NOTICE_COOKIE), path=ROOT)
    return response


def render_alone(request: Request, name: str, context: Mapping[str, Any], *, status: int = 200) -> Response:
    """A page without navigation: sign-in, and errors of visitors who are not signed in."""
    is_inside = request.headers.get(FRAGMENT_HEADER) == MAIN
    layout = "inside.html" if is_inside else "alone.html"
    html = (
        environment().get_template(name).render({"layout": layout, "visit": None, "notice": None, **context})
    )
    return HTMLResponse(html, status, headers=HEADERS)


def redirect(visit: Visit, redirected: Redirected) -> Response:
    """The response after a form: the next page shows the notice once."""
    response = RedirectResponse(redirected.location, 303)
    if redirected.notice:
        response.set_cookie(
            cookie_name(visit.request, NOTICE_COOKIE),
            write_notice(visit.request, redirected),
            max_age=NOTICE_S,
            path=ROOT,
            httponly=True,
            samesite="lax",
            secure=came_over_https(visit.request),
        )
    return response


@cache
def environment() -> Environment:
    """The environment of all templates."""
    made = Environment(
        loader=PackageLoader("mnemic.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        ago=ago,
        clock=clock,
        day=day,
        number=number,
        percent=percent,
        plural=plural,
        second=second,
        short=short,
        short_id=short_id,
        size=size,
        tone=tone,
        when=when,
        words=words,
    )
    made.globals.update(charts=charts, diff_words=word_diff.diff_words, root=ROOT, static=address_of)
    return made


def when(moment: datetime | None) -> str:
    """A time to the minute."""
    return f"{moment.astimezone(UTC):%-d %b %Y, %H:%M}" if moment is not None else "–"


def second(moment: datetime) -> str:
    """A time to the second, for programs."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def day(moment: datetime | None) -> str:
    """A date."""
    return f"{moment.astimezone(UTC):%-d %b %Y}" if moment is not None else "–"


def clock(moment: datetime) -> str:
    """The time of day of today, to the second; of other days with the date, to the minute."""
    at = moment.astimezone(UTC)
    return f"{at:%H:%M:%S}" if at.date() == datetime.now(UTC).date() else f"{at:%-d %b, %H:%M}"


def ago(moment: datetime | None) -> str:
    """How long ago a time was, or how long until it comes."""
    if moment is None:
        return "never"
    seconds = (datetime.now(UTC) - moment).total_seconds()
    for size, unit in UNITS_S:
        if abs(seconds) >= size:
            count = f"{abs(seconds) / size:.0f} {unit}"
            return f"{count} ago" if seconds > 0 else f"in {count}"
    return "just now"


def number(value: float) -> str:
    """A number with separators of thousands."""
    return f"{value:,.0f}"


def short(value: float) -> str:
    """A number in few characters: 103 k."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size * 10 or (value >= size and unit != "k"):
            return f"{value / size:.{0 if value >= size * 10 else 1}f} {unit}"
    return f"{value:,.0f}"


def plural(count: float, one: str, many: str = "") -> str:
    """A number with what it counts: 1 memory, 2 memories."""
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def size(byte_count: float) -> str:
    """A number of bytes in few characters: 8.1 kB."""
    for unit_bytes, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if byte_count >= unit_bytes:
            return f"{byte_count / unit_bytes:.{0 if byte_count >= unit_bytes * 10 else 1}f} {unit}"
    return f"{byte_count:.0f} B"


def short_id(name: str) -> str:
    """The end of an id, which tells it from those made at the same time; names as they are."""
    return f"…{name[-ID_END_CHARACTERS:]}" if ID.fullmatch(name) else name


def percent(share: float | None) -> str:
    """A share as a percentage."""
    return "–" if share is None else f"{100 * share:.0f} %"


def tone(state: str) -> str:
    """The colour of the badge of a state."""
    return TONES.get(state, "")


def words(name: str) -> str:
    """The name of a state or kind as words: pending_review is "pending review"."""
    return name.replace("_", " ")


def _navigation(visit: Visit, pages: tuple[Page, ...]) -> list[tuple[str, list[Page]]]:
    """The pages that the key may see, by group."""
    found = [
        (group, [each for each in pages if each.group == group and visit.may(each.call)]) for group in GROUPS
    ]
    return [(group, listed) for group, listed in found if listed]
