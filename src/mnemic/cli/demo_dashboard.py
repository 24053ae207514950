"""`mnemic demo --ui`: stores a year of four owners in a folder, and opens the dashboard over it."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from mnemic import Memory
from mnemic.cli.options import settings_from
from mnemic.cli.output import out, print_line
from mnemic.cli.serve import require_server
from mnemic.cli.story.storing import STORIES, store_stories
from mnemic.cli.ui import ui
from mnemic.db.embedded import stop
from mnemic.errors import ConflictError
from mnemic.runtime.hourly_metrics import HourCounts, HourKey, add_counts
from mnemic.sdk.tenants import Tenants

DRAFT = "draft of the story"
"""The tenant in which the story is played before it is imported; it is deleted afterwards."""


def show_dashboard(data_dir: Path | None, port: int, embedder: str | None) -> None:
    """Fill a folder, unless the story is in it already, and serve it until Ctrl-C.

    Without a folder a temporary one is used, which is deleted afterwards.
    """
    require_server()
    with _folder(data_dir) as folder:
        fill(folder, embedder)
        ui(port=port, data_dir=folder, embedder=embedder)


@contextmanager
def _folder(data_dir: Path | None) -> Iterator[Path]:
    if data_dir is not None:
        yield data_dir
        return
    with TemporaryDirectory(prefix="mnemic-demo-") as folder:
        yield Path(folder)
        stop(Path(folder))  # The folder is deleted next, so the server must have stopped.


def fill(folder: Path, embedder: str | None = None) -> None:
    """Store the story in a folder. A folder with other memories is left alone."""
    with Memory(data_dir=folder, embedder=embedder) as memory:
        owners, wanted = set(memory.admin.owners()), {story.owner for story in STORIES}
        if wanted <= owners:
            print_line("The story is in this folder already.")
            return
        if owners:
            raise ConflictError("This folder holds memories of your own. Name an empty one with --data-dir.")
        # Some of the story's jobs fail, which is part of it.
        logging.getLogger("mnemic.worker").setLevel(logging.ERROR)
        print_line("Storing a year of four owners; this takes up to a minute.")
        calls = store_stories(
            memory,
            partial(Memory, data_dir=folder, tenant=DRAFT, embedder=embedder),
            report=lambda step: out.print(f"  {step}", style="dim", markup=False),
        )
        memory.admin.delete_tenant(DRAFT)
    asyncio.run(_count(folder, calls))


async def _count(folder: Path, calls: Mapping[HourKey, HourCounts]) -> None:
    """Count the calls of the story in their hours, for the charts; no public call counts in the past."""
    settings = settings_from(None, folder, None)
    async with Tenants(settings) as tenants:
        core = await tenants.core(settings.tenant)
        await add_counts(core.storage.tenant_database, calls)
