"""Whether the embedding model works: `query_archive` is offered only while it does."""

import asyncio
import logging
import time

from mnemic.errors import MnemicError
from mnemic.sdk.memory import AsyncMemory

logger = logging.getLogger(__name__)

HEALTH_CACHE_S = 30.0
"""How long it is believed that the embedder works, or does not, before it is tried again."""

PROBE = "_mcp_probe"
"""Owner and tag of what is asked for when the embedder is tried."""

PROBE_TIMEOUT_S = 5.0


class EmbedderHealth:
    """Knows whether the embedding model works, by asking it now and then.

    All tenants of a process share one model, so one answer holds for all of them.
    """

    def __init__(self) -> None:
        self._available = False
        self._trusted_until_s = 0.0

    async def is_available(self, memory: AsyncMemory) -> bool:
        """Whether recall can search by meaning. A memory that cannot be reached at all has no embedder."""
        if time.monotonic() >= self._trusted_until_s:
            self._available = await self._probe(memory)
            self._trusted_until_s = time.monotonic() + HEALTH_CACHE_S
        return self._available

    async def _probe(self, memory: AsyncMemory) -> bool:
        """Ask for what cannot be there, by meaning alone: nothing is found, and nothing counted."""
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                found = await memory.recall(
                    "probe", owner=memory.owner or PROBE, tags=[PROBE], techniques=["vector"], limit=1
                )
        except (MnemicError, TimeoutError) as error:
            logger.warning("The embedder could not be tried: %s", error)
            return False
        # A model that fails is no failure of recall, which says in a note that it went without.
        return not found.notes
