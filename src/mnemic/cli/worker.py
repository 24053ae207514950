"""`mnemic worker`: run the jobs of all tenants."""

import asyncio
import logging
import signal
from typing import Annotated

import typer

from mnemic.cli.options import DatabaseUrl, DataDir, Embedder, settings_from
from mnemic.cli.output import remark
from mnemic.config import Settings
from mnemic.jobs.worker import CONCURRENCY_MAX, DEFAULT_CONCURRENCY, DEFAULT_GRACE_S, Worker
from mnemic.sdk.tenants import Tenants

OneTenant = Annotated[str | None, typer.Option("--tenant", help="Only this tenant. Default: all tenants.")]
Concurrency = Annotated[
    int,
    typer.Option(
        "--concurrency", min=1, max=CONCURRENCY_MAX, help="Maximum number of jobs that run at a time."
    ),
]
Grace = Annotated[
    float, typer.Option("--grace-s", min=0, help="Seconds that running jobs get to finish after a stop.")
]


def worker(
    url: DatabaseUrl = None,
    data_dir: DataDir = None,
    tenant: OneTenant = None,
    embedder: Embedder = None,
    concurrency: Concurrency = DEFAULT_CONCURRENCY,
    grace_s: Grace = DEFAULT_GRACE_S,
) -> None:
    """Run jobs until SIGTERM or Ctrl-C. Running jobs then finish, or go back to the queue."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    settings = settings_from(url, data_dir)
    asyncio.run(_work(settings, embedder, tenant, concurrency, grace_s))


async def _work(
    settings: Settings, embedder: str | None, tenant: str | None, concurrency: int, grace_s: float
) -> None:
    async with Tenants(settings, embedder=embedder) as tenants:
        only_tenant = await tenants.database.open_tenant(tenant, create=False) if tenant is not None else None
        made = tenants.worker(concurrency=concurrency, only_tenant=only_tenant)
        _stop_on_signals(made, grace_s)
        remark(f"worker {made.name} is working, {concurrency} jobs at a time; Ctrl-C stops it")
        await made.run()


def _stop_on_signals(made: Worker, grace_s: float) -> None:
    """The first signal asks the worker to stop; a second one does not wait for running jobs."""

    def stop() -> None:
        made.stop(grace_s=0 if made.is_stopping else grace_s)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
