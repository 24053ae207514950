"""Processes of other versions that use a database which is about to be migrated.

A migration under a running process would let it fail in the middle of its work, or write what the new version
does not expect. So the migration waits until all sessions of other versions have ended, for at most
`Limits.other_versions_timeout_s`, and then fails with a list of them. It does not hold the lock of migrations
meanwhile. An administrator can have them disconnected instead (`mnemic migrate --disconnect`).

Sessions of the same version do not count: several processes of a new version may open a database at once, and
one of them migrates it.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import AsyncConnection
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import DictRow

from mnemic.db.schema_version import NAMED_DIGEST_CHARACTERS, expected_digest
from mnemic.errors import DatabaseInUseError
from mnemic.sql import query

POLL_INTERVAL_S = 0.25
PROCESSES_NAMED_MAX = 5

logger = logging.getLogger("mnemic.migrate")


@dataclass(frozen=True)
class OtherProcess:
    """A process of another version, by its sessions in this database."""

    name: str
    """Their `application_name`, see `mnemic.db.schema_version`."""
    backend_pids: list[int]

    def __str__(self) -> str:
        _, version, _, process_id = [*self.name.split("/"), "", "", ""][:4]
        backends = ", ".join(map(str, self.backend_pids))
        if not process_id:
            return f"a process of an earlier version (server process {backends})"
        return f"process {process_id} with Mnemic {version} (server process {backends})"


async def other_processes(connection: AsyncConnection[DictRow]) -> list[OtherProcess]:
    """The processes of other versions than this one that are connected to the database."""
    digest = expected_digest()[:NAMED_DIGEST_CHARACTERS]
    cursor = await connection.execute(query("migrations.other_processes"), {"digest": digest})
    return [OtherProcess(**row) for row in await cursor.fetchall()]


async def disconnect(connection: AsyncConnection[DictRow], processes: Sequence[OtherProcess]) -> None:
    """End the sessions of these processes; their transactions are rolled back."""
    pids = [pid for process in processes for pid in process.backend_pids]
    try:
        await connection.execute(query("migrations.disconnect"), {"pids": pids})
    except InsufficientPrivilege as error:
        raise DatabaseInUseError(
            f"{_listed(processes)} must be disconnected first. This role may not do that: it must be a "
            "member of pg_signal_backend. Stop them instead."
        ) from error
    logger.warning("disconnected before migrating: %s", _listed(processes))


class OtherVersionsWait:
    """Waits for other processes between attempts to migrate, up to a time limit."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._ends_at_s = time.monotonic() + timeout_s
        self._is_announced = False

    async def pause(self, processes: Sequence[OtherProcess]) -> None:
        """Pause before the next attempt; DatabaseInUseError after the time limit."""
        if time.monotonic() >= self._ends_at_s:
            raise DatabaseInUseError(
                "This version of Mnemic must change the schema of the database, and another version is using "
                f"it: {_listed(processes)}. Waited {self._timeout_s:g} s (other_versions_timeout_s). Stop or "
                "upgrade these processes and try again; or run `mnemic migrate --disconnect`, after which "
                "they fail until they are restarted with this version."
            )
        if not self._is_announced:
            self._is_announced = True
            logger.warning(
                "waiting up to %g s for processes of another version to close the database: %s",
                self._timeout_s,
                _listed(processes),
            )
        await asyncio.sleep(POLL_INTERVAL_S)


def _listed(processes: Sequence[OtherProcess]) -> str:
    named = ", ".join(map(str, processes[:PROCESSES_NAMED_MAX]))
    more = len(processes) - PROCESSES_NAMED_MAX
    return f"{named} and {more} more" if more > 0 else named
