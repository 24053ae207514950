"""When keys were last used: kept in this process, written now and then, never by the request itself.

A server that is killed loses the last `WRITE_EVERY_S` of it and nothing else.
"""

import asyncio
import logging
from datetime import UTC, datetime
from uuid import UUID

from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import MnemicError
from mnemic.govern.keys import FoundKey, note_uses

WRITE_EVERY_S = 30.0
KEYS_MAX = 100_000
"""Keys that wait at most, should writing go on failing; others are not noted meanwhile."""

logger = logging.getLogger("mnemic.server")


class KeyUsage:
    """Uses that wait to be written."""

    def __init__(self) -> None:
        self._last_at: dict[tuple[Tenant, UUID], datetime] = {}

    def note(self, found: FoundKey) -> None:
        """Note that a key is used now."""
        place = found.tenant, found.key.key_id
        if place in self._last_at or len(self._last_at) < KEYS_MAX:
            self._last_at[place] = datetime.now(UTC)

    async def write(self, database: Database) -> None:
        """Write what has gathered, a tenant at a time; what fails is left out, the next use is noted anew."""
        waiting, self._last_at = self._last_at, {}
        by_tenant: dict[Tenant, dict[UUID, datetime]] = {}
        for (tenant, key_id), last_at in waiting.items():
            by_tenant.setdefault(tenant, {})[key_id] = last_at
        for tenant, last_ats in by_tenant.items():
            try:
                await note_uses(TenantDatabase(database, tenant), last_ats)
            except MnemicError as error:
                logger.warning("the last use of %d keys could not be written: %s", len(last_ats), error)

    async def write_regularly(self, database: Database) -> None:
        """Write every now and then, until cancelled."""
        while True:
            await asyncio.sleep(WRITE_EVERY_S)
            await self.write(database)
