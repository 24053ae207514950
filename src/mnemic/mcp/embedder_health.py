"""Whether the embedding model works: the tool `query_archive` is listed only while it does."""

import asyncio
import logging
import time

from mnemic.errors import MnemicError
from mnemic.sdk.memory import AsyncMemory

logger = logging.getLogger(__name__)

HEALTH_CACHE_S = 30.0
"""How long the result of a probe is reused."""

PROBE = "_mcp_probe"
"""Owner and tag of the recall that probes the embedder."""

PROBE_TIMEOUT_S = 5.0


class EmbedderHealth:
    """Probes the embedding model and caches the result.

    All tenants of a process share one model, so one probe is valid for all of them.
    """

    def __init__(self) -> None:
        self._available = False
        self._valid_until_s = 0.0

    async def is_available(self, memory: AsyncMemory) -> bool:
        """Whether recall can use vector search; False if the memory cannot be reached."""
        if time.monotonic() >= self._valid_until_s:
            self._available = await self._probe(memory)
            self._valid_until_s = time.monotonic() + HEALTH_CACHE_S
        return self._available

    async def _probe(self, memory: AsyncMemory) -> bool:
        """Recall by vector search only, with a tag that no memory has: nothing is found or counted."""
        try:
            async with asyncio.timeout(PROBE_TIMEOUT_S):
                found = await memory.recall(
                    "probe",
                    owner=memory.owner or PROBE,
                    tags=[PROBE],
                    techniques=["vector"],
                    limit=1,
                    record=False,
                )
        except (MnemicError, TimeoutError) as error:
            logger.warning("probe of the embedder failed: %s", error)
            return False
        # Recall does not fail when the model does; it says so in a note.
        return not found.notes
