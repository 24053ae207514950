"""Health checks for operators and load balancers: `/healthz` (liveness) and `/readyz` (readiness)."""

import asyncio

from fastapi import APIRouter
from pydantic import BaseModel

from mnemic.db.migrate import require_current
from mnemic.errors import DatabaseUnavailableError
from mnemic.govern.keys import ANY_KEY
from mnemic.sdk.tenants import Tenants

READY_TIMEOUT_S = 5.0


class Health(BaseModel):
    """The state of the server."""

    status: str


def health_routes(tenants: Tenants) -> APIRouter:
    """`/healthz` and `/readyz`."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz", summary="Whether the process is alive")
    async def healthz() -> Health:
        """Answers while the process runs; does not check the database."""
        return Health(status="alive")

    @router.get("/readyz", summary="Whether the server can serve requests")
    async def readyz() -> Health:
        """200 if the database answers and has the migrations of this version; otherwise 503."""
        await check_ready(tenants)
        return Health(status="ready")

    return router


async def check_ready(tenants: Tenants) -> None:
    """Raise unless the database answers in time and is migrated."""
    try:
        async with (
            asyncio.timeout(READY_TIMEOUT_S),
            tenants.database.privileged_transaction("key", ANY_KEY) as queries,
        ):
            await require_current(queries.connection)
    except TimeoutError:
        raise DatabaseUnavailableError(f"The database did not answer within {READY_TIMEOUT_S} s.") from None
