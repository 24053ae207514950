"""The proxy as a server of its own (`mnemic proxy`)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp

from mnemic.config import Settings
from mnemic.proxy.app import Proxy
from mnemic.proxy.callers import DEFAULT_OWNER, KeylessAccess
from mnemic.sdk.tenants import Tenants
from mnemic.server.authentication import Authenticator
from mnemic.server.limits import ServerLimits, limits_of


@dataclass(frozen=True)
class ProxyServer:
    """The proxy with the limits of its connections."""

    app: ASGIApp
    limits: ServerLimits

    def stop(self) -> None:
        """Responses in progress end by themselves."""


@asynccontextmanager
async def open_proxy(
    tenants: Tenants, settings: Settings, *, allows_keyless: bool
) -> AsyncIterator[ProxyServer]:
    """A proxy over open tenants; `allows_keyless` serves requests without a key for the default owner."""
    bounds = limits_of(settings)
    keyless = KeylessAccess(settings.tenant, settings.owner or DEFAULT_OWNER) if allows_keyless else None
    authenticator = Authenticator(tenants, limits=bounds)
    async with Proxy(tenants, settings, authenticator, keyless=keyless) as proxy:
        yield ProxyServer(proxy, bounds)
