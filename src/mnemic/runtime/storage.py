"""The storage of a `Memory`: the embedded server or a database URL, opened and closed together.

A Mnemic server (`https://…`) is no storage: `mnemic.sdk.http.client` calls it.
"""

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

from mnemic.config import DEFAULT_TENANT, Settings
from mnemic.db.access import embedded_access, url_access
from mnemic.db.connection import Limits
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.embedded import EmbeddedServer
from mnemic.db.tenancy import SigningKey, Tenant
from mnemic.errors import ConfigurationError


@dataclass(frozen=True)
class Storage:
    """An open database, its tenant, and the embedded server if it is used."""

    database: Database
    tenant: Tenant
    server: EmbeddedServer | None

    @property
    def tenant_database(self) -> TenantDatabase:
        """The database as the tenant sees it."""
        return TenantDatabase(self.database, self.tenant)

    async def aclose(self) -> None:
        """Close the connections, then leave the embedded server, which stops after its last user."""
        await self.database.aclose()
        if self.server is not None:
            await asyncio.to_thread(self.server.close)


async def open_storage(settings: Settings) -> Storage:
    """Open the storage that the settings name. On failure everything opened so far is closed."""
    check_settings(settings)
    if settings.database_url is not None:
        return await _open_url(settings, settings.database_url.get_secret_value())
    return await _open_embedded(settings)


def check_settings(settings: Settings) -> None:
    """ConfigurationError if the URL is that of a Mnemic server and not of a database."""
    if uses_http(settings):
        raise ConfigurationError(
            "This needs the database itself, and the URL is that of a Mnemic server: run it where the server "
            "runs, with a postgresql:// URL, or without one for the embedded server."
        )


def uses_http(settings: Settings) -> bool:
    """Whether the settings name a Mnemic server and not a database."""
    url = settings.database_url.get_secret_value() if settings.database_url is not None else ""
    return urlsplit(url).scheme in ("http", "https")


def limits_of(settings: Settings) -> Limits:
    """Limits of the database layer from the settings."""
    return Limits(
        pool_size=settings.pool_size,
        statement_timeout_s=settings.statement_timeout_s,
        connect_timeout_s=settings.connect_timeout_s,
        other_versions_timeout_s=settings.other_versions_timeout_s,
    )


def key_of(settings: Settings) -> SigningKey | None:
    """The signing key from the settings, if any."""
    if settings.tenant_key is None:
        return None
    return SigningKey.from_hex(settings.tenant_key.get_secret_value())


async def start_server(settings: Settings) -> EmbeddedServer:
    """Start the embedded server or join it."""
    return await asyncio.to_thread(
        EmbeddedServer.start,
        settings.data_dir,
        server_user=settings.server_user,
        keep_running=settings.keep_running,
        server_settings=settings.server_settings,
        start_timeout_s=settings.start_timeout_s,
    )


async def _open_url(settings: Settings, url: str) -> Storage:
    limits = limits_of(settings)
    access = await url_access(url, limits, key=key_of(settings))
    return await _open_tenant(Database(access, limits), settings, server=None)


async def _open_embedded(settings: Settings) -> Storage:
    limits = limits_of(settings)
    server = await start_server(settings)
    try:
        access = await embedded_access(server, limits)

        async def revive() -> None:
            await asyncio.to_thread(server.ensure_running)

        return await _open_tenant(Database(access, limits, revive=revive), settings, server=server)
    except BaseException:
        await asyncio.to_thread(server.close)
        raise


async def _open_tenant(database: Database, settings: Settings, *, server: EmbeddedServer | None) -> Storage:
    # Every database has the default tenant: before anything is stored, reading finds an empty one.
    create = settings.create_tenant or settings.tenant == DEFAULT_TENANT
    try:
        await database.open()
        return Storage(database, await database.open_tenant(settings.tenant, create=create), server)
    except BaseException:
        await database.aclose()
        raise
