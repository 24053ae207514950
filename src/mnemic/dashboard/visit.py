"""One request of a signed-in visitor: who it is, what the key allows, and the fields that were sent."""

import asyncio
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from mnemic.dashboard.fields import Fields
from mnemic.errors import InvalidInputError
from mnemic.govern.keys import AuthenticatedKey
from mnemic.sdk.http.surface import ROUTES
from mnemic.sdk.memory import AsyncMemory
from mnemic.server.authentication import Authenticator
from mnemic.types.key import ApiKey, allows
from mnemic.types.scope import check_name

ROOT = "/ui"
COOKIE = "mnemic_session"
FRAGMENT_HEADER = "x-fragment"
MAIN = "#main"
FORM_MEDIA_TYPE = "application/x-www-form-urlencoded"
FORM_MAX_BYTES = 4 << 20
FORM_FIELDS_MAX = 2_000
FORM_PAUSE_S = 10.0
"""How long a client may pause while it sends a form."""
OWNERS_LISTED_MAX = 100
"""Owners that the menu of owners lists; the page Owners finds the others."""


@dataclass
class Visit:
    """A request, and everything that a view needs to answer it.

    `memory` obeys the key: it makes only the calls that the key may make over HTTP. It is scoped to `owner`,
    the owner that the visitor looks at; "" if there is none yet. `owners` are the ones to choose from.
    """

    request: Request
    found: AuthenticatedKey
    memory: AsyncMemory
    owner: str = ""
    owners: list[str] = field(default_factory=list)
    page: str = ""

    @property
    def key(self) -> ApiKey:
        """The key that the visitor signed in with."""
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
    def fragment(self) -> str:
        """The part of the page that the script asks for, such as "#found"; "" for a whole page."""
        return self.request.headers.get(FRAGMENT_HEADER, "")

    def may(self, call: str) -> bool:
        """Whether the key may make a call; pages hide what it may not do."""
        route = ROUTES[call]
        return allows(self.key.role, route.role) and not (self.key.owner and route.reach == "tenant")

    def url(self, page: str, **fields: Any) -> str:
        """The address of a page below `/ui`, for the same owner; fields that are None or "" are left out."""
        given = {"owner": self.owner} | fields if self.key.owner is None else fields
        kept = {name: value for name, value in given.items() if value not in (None, "", [], ())}
        return f"{ROOT}/{page}" + (f"?{urlencode(kept, doseq=True)}" if kept else "")

    def url_here(self, **fields: Any) -> str:
        """The address of this page with some fields of its URL replaced."""
        given: dict[str, Any] = {}
        for name, value in self.query.pairs():
            given.setdefault(name, []).append(value)
        page = self.request.url.path.removeprefix(f"{ROOT}/")
        return self.url(page, **(given | fields))

    async def form(self) -> Fields:
        """The fields of the form that was sent."""
        if self.request.headers.get("content-type", "").partition(";")[0].strip() != FORM_MEDIA_TYPE:
            raise HTTPException(415, f"A form is sent as {FORM_MEDIA_TYPE}.")
        body = bytearray()
        parts = aiter(self.request.stream())
        while True:
            try:
                async with asyncio.timeout(FORM_PAUSE_S):
                    body += await anext(parts)
            except StopAsyncIteration:
                break
            except TimeoutError:
                raise HTTPException(408, "The form came too slowly. Send it again.") from None
            if len(body) > FORM_MAX_BYTES:
                raise HTTPException(413, f"The form is larger than {FORM_MAX_BYTES:,} bytes, the limit.")
        try:
            pairs = parse_qsl(body.decode(), max_num_fields=FORM_FIELDS_MAX, errors="strict")
        except ValueError:
            raise InvalidInputError(
                f"The form cannot be read: it must be UTF-8 with at most {FORM_FIELDS_MAX:,} fields."
            ) from None
        return Fields(pairs)


async def visit_of(request: Request, authenticator: Authenticator) -> Visit:
    """The visit of a signed-in visitor; NotAuthenticatedError if nobody is signed in."""
    found = await authenticator.find(request.cookies.get(COOKIE, ""))
    memory = await authenticator.memory_of(found, request.state.request_id)
    visit = Visit(request, found, memory)
    if found.key.owner is not None:
        visit.owner, visit.owners = found.key.owner, [found.key.owner]
        return visit
    if visit.may("admin.owners"):
        visit.owners = list(await memory.admin.owners(limit=OWNERS_LISTED_MAX))
    named = visit.query.text("owner")
    visit.owner = check_name("owner", named) if named else next(iter(visit.owners), "")
    if visit.owner:
        visit.memory = memory.scope(owner=visit.owner)
    return visit
