"""`memory.admin`: erasing, moving, backing up, looking at the whole."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike

from mnemic.errors import EmbeddingError
from mnemic.govern.backup import Backup, back_up
from mnemic.govern.erase import erase_owner
from mnemic.govern.files import check_path, new_file, open_file
from mnemic.govern.owners import count_backlog, list_owners, read_stats
from mnemic.govern.transfer import Imported, export_owner, import_owner
from mnemic.sdk.core import Caller
from mnemic.sdk.finishing import finish
from mnemic.sdk.indexing import drop_indexes_of
from mnemic.sdk.making_up import embed_backlog
from mnemic.sdk.reembedding import begin_change, read_change
from mnemic.sdk.restoring import admin_conninfo, restore_place
from mnemic.types.checks import check_choice
from mnemic.types.embedding import ModelChange
from mnemic.types.receipt import ErasureMode, ErasureReceipt
from mnemic.types.scope import check_name
from mnemic.types.stats import TenantStats


class AsyncAdmin:
    """What concerns all that is held about an owner, or the whole place."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def erase(self, owner: str, *, mode: ErasureMode = "erase") -> ErasureReceipt:
        """Erase all that is held about an owner, or archive it; returns a receipt with rows per table.

        `erase` leaves nothing, neither in the history nor in the logs, and cannot be undone. `archive`
        only takes the owner's memories out of recall. The audit log keeps the receipt without the name.
        """
        check_choice("mode", mode, ("erase", "archive"))
        # Named by the caller, never by default: nobody is erased because a name was missing.
        scope = self._caller.scoped(check_name("owner", owner))
        receipt = await erase_owner(self._caller.database, scope, mode=mode)
        if mode == "erase":
            await drop_indexes_of(self._caller.core, owner)
        return receipt

    async def export(
        self, path: str | PathLike[str], *, owner: str | None = None, replace: bool = False
    ) -> dict[str, int]:
        """Write all that is held about an owner into a file of JSON lines; returns rows per table."""
        with new_file(check_path(path), replace=replace) as file:
            return await export_owner(self._caller.database, self._caller.scoped(owner), file.write)

    async def import_(self, path: str | PathLike[str], *, embed: bool = True) -> Imported:
        """Take an exported file into this tenant, all of it or nothing; what is there already stays.

        Its memories are embedded anew, by this memory's model, unless `embed` is False or the embedder
        fails: then they are found by their words until `embed_backlog` has run.
        """
        with open_file(check_path(path)) as file:
            imported = await import_owner(self._caller.database, file)
        if embed:
            with suppress(EmbeddingError):
                await embed_backlog(self._caller.core)
        return replace(imported, awaiting_embedding_count=await count_backlog(self._caller.database))

    async def backup(self, path: str | PathLike[str], *, replace: bool = False) -> Backup:
        """Write everything, of all tenants, into one file, while others go on working."""
        return await back_up(admin_conninfo(self._caller.core), check_path(path), replace=replace)

    async def restore(self, path: str | PathLike[str], *, replace: bool = False) -> None:
        """Bring back a backup into this place. What is there is replaced only if `replace` says so.

        Other processes that use the embedded server are disconnected from the old database.
        """
        core, backup = self._caller.core, check_path(path)
        async with core.closed_for_a_while():
            await restore_place(core.settings, backup, replace=replace)

    async def embed_backlog(self) -> int:
        """Embed what was stored while the embedder failed; returns how many memories that were."""
        return await embed_backlog(self._caller.core)

    async def reembed(self, *, wait: bool = False) -> ModelChange:
        """Change to the embedder that this memory was opened with: embed everything anew, in the background.

        Until all is done, the model that serves now goes on doing so; then the other one takes its place at
        once, and the old vectors go. Calling it again says how far it is; `wait` waits for the end. Opened
        with the embedder that serves, it calls a change off.
        """
        core = self._caller.core
        change = await begin_change(core)
        if not wait or change.job_id is None:
            return change
        await finish(core, change.job_id)
        return await read_change(core.place.tenant_database)

    async def owners(self, *, after: str = "", limit: int = 100) -> Sequence[str]:
        """Owners that have memories, by name; `after` is the last one of the page before."""
        return await list_owners(self._caller.database, after=after, limit=limit)

    async def stats(self) -> TenantStats:
        """How much this tenant holds."""
        return await read_stats(self._caller.database)
