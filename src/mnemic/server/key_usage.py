"""When each API key was last used: collected in this process and written periodically, never by a request.

A server that is killed loses the uses of the last `WRITE_EVERY_S` seconds.
"""

import asyncio
import logging
from datetime import UTC, datetime
from uuid import UUID

from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import MnemicError
from mnemic.govern.keys import AuthenticatedKey, note_uses

WRITE_EVERY_S = 30.0
KEYS_MAX = 100_000
"""Upper bound on pending keys while writing fails; uses of further keys are dropped."""

logger = logging.getLogger("mnemic.server")


class KeyUsage:
    """Uses of keys that are not written yet."""

    def __init__(self) -> None:
        self._last_at: dict[tuple[Tenant, UUID], datetime] = {}

    def note(self, found: AuthenticatedKey) -> None:
        """Record that a key is used now."""
        place = found.tenant, found.key.key_id
        if place in self._last_at or len(self._last_at) < KEYS_MAX:
            self._last_at[place] = datetime.now(UTC)

    async def write(self, database: Database) -> None:
        """Write the pending uses, one tenant at a time. Uses that cannot be written are dropped."""
        waiting, self._last_at = self._last_at, {}
        by_tenant: dict[Tenant, dict[UUID, datetime]] = {}
        for (tenant, key_id), last_at in waiting.items():
            by_tenant.setdefault(tenant, {})[key_id] = last_at
        for tenant, last_ats in by_tenant.items():
            try:
                await note_uses(TenantDatabase(database, tenant), last_ats)
            except MnemicError as error:
                logger.warning("cannot write the last use of %d keys: %s", len(last_ats), error)

    async def write_regularly(self, database: Database) -> None:
        """Write periodically, until cancelled."""
        while True:
            await asyncio.sleep(WRITE_EVERY_S)
            await self.write(database)
