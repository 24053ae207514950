"""Who calls: from a key of Mnemic to a tenant and an owner.

The key is in the header `x-mnemic-key`, or in the path for clients that know only one key:
`/key/mn_…/v1/messages`. The client's key for the provider is another one and is not looked at.

A proxy on a loopback address also serves requests without a key, for the tenant and the owner of its
settings: the user of the machine has the database anyway. A page in a browser is no such user. It could make
the browser send requests to the loopback address, so a request without a key is refused if it has an
`Origin`, or if its `Host` is not a name of this machine (DNS rebinding).

While the database cannot be reached, a key that was valid before stays valid: the proxy then passes bytes on
and reads no memory.
"""

import asyncio
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import unquote

from mnemic.errors import DatabaseError, MnemicError, NotAuthenticatedError
from mnemic.govern.keys import AuthenticatedKey
from mnemic.proxy.errors import ProxyError
from mnemic.proxy.headers import RawHeaders, first
from mnemic.sdk.http.connection import OWNER_HEADER
from mnemic.server.authentication import Authenticator
from mnemic.types.key import allows
from mnemic.types.scope import check_name

KEY_HEADER = b"x-mnemic-key"
KEY_IN_PATH = re.compile(rb"/key/([^/]*)(/.*)")
DEFAULT_OWNER = "default"
"""Owner of conversations if neither the key nor the request nor the settings name one."""
LOOKUP_TIMEOUT_S = 3.0
"""Longest wait for the database when a key is looked up."""


@dataclass(frozen=True, slots=True)
class ProxyCaller:
    """Whose request it is."""

    tenant: str
    owner: str
    key: AuthenticatedKey | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class KeylessAccess:
    """Requests without a key are allowed, for this tenant and owner."""

    tenant: str
    owner: str


class Callers:
    """Finds the caller of each request."""

    def __init__(
        self, authenticator: Authenticator, *, keyless: KeylessAccess | None, owner: str | None
    ) -> None:
        """`owner` is that of keys for a whole tenant, unless a request names one."""
        self._authenticator = authenticator
        self._keyless = keyless
        self._owner = owner or DEFAULT_OWNER

    async def find(self, token: str, headers: RawHeaders) -> ProxyCaller:
        """The caller of a request; ProxyError if it may not use the proxy."""
        if token:
            return self._caller(await self._key(token), headers)
        if self._keyless is None:
            raise ProxyError(
                401,
                "This proxy needs a key of Mnemic: send the header x-mnemic-key: mn_…, or use a base URL "
                "that ends with /key/mn_…",
            )
        _check_local(headers)
        return ProxyCaller(self._keyless.tenant, self._keyless.owner)

    async def _key(self, token: str) -> AuthenticatedKey:
        try:
            async with asyncio.timeout(LOOKUP_TIMEOUT_S):
                return await self._authenticator.find(token)
        except NotAuthenticatedError as error:
            raise ProxyError(401, str(error)) from None
        except (DatabaseError, TimeoutError) as error:
            known = self._authenticator.cached(token)
            if known is None:
                raise ProxyError(503, "The key cannot be checked: the database is unavailable.") from error
            return known

    def _caller(self, found: AuthenticatedKey, headers: RawHeaders) -> ProxyCaller:
        if not allows(found.key.role, "write"):
            raise ProxyError(403, "The proxy records conversations: it needs a key with the role write.")
        named = unquote(first(headers, OWNER_HEADER.lower().encode()))
        if found.key.owner is not None and named not in ("", found.key.owner):
            raise ProxyError(403, "This key is for another owner.")
        try:
            owner = found.key.owner or check_name("owner", named or self._owner)
        except MnemicError as error:
            raise ProxyError(400, str(error)) from None
        return ProxyCaller(found.tenant.name, owner, found)


def split_key(path: bytes, headers: RawHeaders) -> tuple[str, bytes]:
    """The key of a request, empty if it has none, and its path without the key."""
    found = KEY_IN_PATH.fullmatch(path)
    if found is not None:
        return found[1].decode("latin-1"), found[2]
    return first(headers, KEY_HEADER), path


def _check_local(headers: RawHeaders) -> None:
    """ProxyError if a request without a key may come from a page in a browser."""
    if first(headers, b"origin") or not _is_local(first(headers, b"host")):
        raise ProxyError(
            403, "Requests without a key must come from a program on this machine, not from a web page."
        )


def _is_local(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    name = name.strip("[]").lower()
    if name == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
