"""One request of a signed-in visitor: who it is, what the key allows, and the fields that were sent."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request

from mnemic.dashboard.fields import Fields
from mnemic.dashboard.forms import read_form
from mnemic.govern.sessions import AuthenticatedSession
from mnemic.sdk.memory import AsyncMemory
from mnemic.server.app import ServerApp
from mnemic.server.authorisation import authorise, may
from mnemic.server.browser_sessions import ROOT, BrowserSessions
from mnemic.server.routes import WHO_AM_I_ROUTE
from mnemic.types.key import ApiKey
from mnemic.types.scope import check_name

__all__ = ["FRAGMENT_HEADER", "MAIN", "ROOT", "Visit", "visit_of"]

FRAGMENT_HEADER = "x-fragment"
MAIN = "#main"
ACTION = "dashboard_call"
"""The action of audit records of calls that change something."""
OWNERS_LISTED_MAX = 100
"""Owners that the menu of owners lists; the page Owners finds the others."""


@dataclass
class Visit:
    """A request, and everything that a view needs to answer it.

    `memory` obeys the key: it makes only the calls that the key may make over HTTP. It is scoped to `owner`,
    the owner that the visitor looks at; "" if there is none yet. `owners` are the ones to choose from; None
    before they are read.
    `tenant_memory` is the same without that scope, for pages of the whole tenant.
    """

    request: Request
    server: ServerApp
    browser_sessions: BrowserSessions
    found: AuthenticatedSession
    memory: AsyncMemory
    tenant_memory: AsyncMemory
    on_form_part: Callable[[int], None] = lambda size: None
    """Takes bytes of a form from the quota of the key."""
    owner: str = ""
    owners: list[str] | None = None
    page: str = ""
    badges: dict[str, str] = field(default_factory=dict)
    """Texts beside pages in the navigation, by the names of the pages."""
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the owners are read."""

    @property
    def key(self) -> ApiKey:
        """The key that the visitor signed in with, the parent of the session."""
        return self.found.key

    @property
    def query(self) -> Fields:
        """The fields of the URL."""
        return Fields(self.request.query_params.multi_items())

    @property
    def path(self) -> dict[str, Any]:
        """The parts of the path that the view names."""
        return self.request.path_params

    @property
    def is_part(self) -> bool:
        """Whether the script asks for less than the inside of the page."""
        return self.fragment not in ("", MAIN)

    @property
    def fragment(self) -> str:
        """The part of the page that the script asks for, such as "#found"; "" for a whole page."""
        return self.request.headers.get(FRAGMENT_HEADER, "")

    def may(self, call: str) -> bool:
        """Whether the key may make a call; pages hide what it may not do."""
        return may(self.key, call)

    def url(self, page: str, **fields: Any) -> str:
        """The address of a page below `/ui`, for the same owner; fields that are None or "" are left out."""
        kept = self.fields(**fields)
        return f"{ROOT}/{page}" + (f"?{kept}" if kept else "")

    def fields(self, **fields: Any) -> str:
        """The fields of such an address alone."""
        given = {"owner": self.owner} | fields if self.key.owner is None else fields
        kept = {name: value for name, value in given.items() if value not in (None, "", [], ())}
        return urlencode(kept, doseq=True)

    def url_here(self, **fields: Any) -> str:
        """The address of this page with some fields of its URL replaced."""
        given: dict[str, Any] = {}
        for name, value in self.query.pairs():
            given.setdefault(name, []).append(value)
        page = self.request.url.path.removeprefix(f"{ROOT}/")
        return self.url(page, **(given | fields))

    def look_at(self, owner: str) -> None:
        """Scope `memory` to an owner."""
        self.owner = owner
        self.memory = self.tenant_memory.scope(owner=owner)

    async def read_owners(self) -> None:
        """Read the owners to choose from, once, and look at the first if the visitor has named none."""
        async with self._reading:
            if self.owners is None:
                may_choose = self.key.owner is None and self.may("admin.owners")
                found = await self.tenant_memory.admin.owners(limit=OWNERS_LISTED_MAX) if may_choose else []
                self.owners = list(found)
            if not self.owner and self.owners:
                self.look_at(self.owners[0])

    async def form(self) -> Fields:
        """The fields of the form that was sent."""
        return await read_form(self.request, on_part=self.on_form_part)


async def visit_of(request: Request, server: ServerApp, browser_sessions: BrowserSessions) -> Visit:
    """The visit of a signed-in visitor; NotAuthenticatedError if nobody is signed in.

    Its owner is known if the URL names it or the key is bound to it; `read_owners` chooses one otherwise.
    """
    found = await browser_sessions.session_of(request)
    memory = await server.authenticator.guarded_memory_of(
        found, request.state.request_id, action=ACTION, audits_from="write"
    )
    visit = Visit(request, server, browser_sessions, found, memory, memory)
    named = visit.query.name("owner")
    authorise(found.key, WHO_AM_I_ROUTE, [named])
    if found.key.owner is not None:
        visit.owner, visit.owners = found.key.owner, [found.key.owner]
    elif named:
        visit.look_at(check_name("owner", named))
    return visit
