"""Health checks for operators and load balancers: `/healthz` (liveness) and `/readyz` (readiness).

Both need no key, so anybody may call them often. Calls of `/readyz` at the same time share one check, and the
disk is written to at most once in `DISK_CHECKED_EVERY_S`.
"""

import asyncio
from time import monotonic

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.responses import Response

from mnemic.config import Settings
from mnemic.db.disk import DATABASE_READ_ONLY, check_data_folder
from mnemic.db.migrate import require_current
from mnemic.errors import DatabaseReadOnlyError, DatabaseUnavailableError, MnemicError
from mnemic.govern.keys import ANY_KEY
from mnemic.sdk.tenants import Tenants
from mnemic.server.problems import ours

READY_TIMEOUT_S = 5.0
DISK_CHECKED_EVERY_S = 2.0


class Health(BaseModel):
    """The state of the server."""

    status: str


def health_routes(tenants: Tenants, settings: Settings) -> APIRouter:
    """`/healthz` and `/readyz`."""
    router = APIRouter(tags=["health"])
    readiness = Readiness(tenants, settings)

    @router.get("/healthz", summary="Whether the process is alive")
    async def healthz() -> Health:
        """Answers while the process runs; does not check the database."""
        return Health(status="alive")

    @router.get("/readyz", summary="Whether the server can serve requests", response_model=Health)
    async def readyz(request: Request) -> Health | Response:
        """200 if the database answers, has the migrations of this version and takes writes; otherwise 503."""
        error = await readiness.check()
        return Health(status="ready") if error is None else ours(request, error, 503)

    return router


class Readiness:
    """Checks whether the server can serve, once for all callers at a time."""

    def __init__(self, tenants: Tenants, settings: Settings) -> None:
        self._tenants = tenants
        self._settings = settings
        self._running: asyncio.Task[MnemicError | None] | None = None
        self._disk_error: MnemicError | None = None
        self._disk_checked_s = -DISK_CHECKED_EVERY_S

    async def check(self) -> MnemicError | None:
        """The reason why the server is not ready, or None."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._check(), name="mnemic readiness")
        return await asyncio.shield(self._running)

    async def _check(self) -> MnemicError | None:
        try:
            async with asyncio.timeout(READY_TIMEOUT_S):
                # First, because a full disk may be the reason why the database does not answer.
                await self._check_folder()
                await self._check_migrations()
                return await self._check_disk()
        except TimeoutError:
            return DatabaseUnavailableError(f"The database did not answer within {READY_TIMEOUT_S} s.")
        except MnemicError as error:
            return error

    async def _check_migrations(self) -> None:
        async with self._tenants.database.privileged_transaction("key", ANY_KEY) as queries:
            await require_current(queries.connection)

    async def _check_disk(self) -> MnemicError | None:
        if monotonic() - self._disk_checked_s >= DISK_CHECKED_EVERY_S:
            try:
                await self._use_disk()
                self._disk_error = None
            except MnemicError as error:
                self._disk_error = error
            self._disk_checked_s = monotonic()
        return self._disk_error

    async def _check_folder(self) -> None:
        """Read the free space on the disk of the embedded server."""
        if self._settings.database_url is None:
            await asyncio.to_thread(
                check_data_folder,
                self._settings.data_dir,
                min_free_bytes=self._settings.min_free_disk_bytes,
            )

    async def _use_disk(self) -> None:
        """Let the database write a temporary file."""
        async with self._tenants.database.privileged_transaction("key", ANY_KEY) as queries:
            await queries.rows("health.sort_on_disk")
            if (await queries.one("health.write_to_disk"))["is_read_only"]:
                raise DatabaseReadOnlyError(DATABASE_READ_ONLY)
