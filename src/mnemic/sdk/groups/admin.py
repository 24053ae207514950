"""`memory.admin`: erasing, moving, backing up, looking at the whole.

All that destroys or carries away much is audited by the calls themselves, and so on every surface: the
intent before, the outcome after, with counts and without a word of what is stored.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike

from mnemic.backup.dump import Backup, back_up
from mnemic.backup.files import check_path
from mnemic.backup.owner_transfer import Imported, export_owner, import_owner
from mnemic.backup.restore import admin_conninfo, restore_storage
from mnemic.db.tenancy import Tenant
from mnemic.embeddings.backlog import embed_backlog
from mnemic.embeddings.indexes import drop_indexes_of
from mnemic.embeddings.model_change import ask_for_change, read_change
from mnemic.errors import ConflictError, EmbeddingError, NotFoundError
from mnemic.govern.audit import audited, file_target, nobodys
from mnemic.govern.erase import erase_owner
from mnemic.govern.owners import count_backlog, list_owners, read_stats
from mnemic.govern.tenants import Administrator, delete_tenant, list_tenants
from mnemic.record.comparing import compare_waiting
from mnemic.runtime.core import Caller
from mnemic.runtime.storage import limits_of
from mnemic.sdk.finishing import finish
from mnemic.types.checks import check_choice
from mnemic.types.embedding import ModelChange
from mnemic.types.receipt import ErasureMode, ErasureReceipt
from mnemic.types.scope import check_name
from mnemic.types.stats import TenantStats
from mnemic.types.tenant import TenantRecord, check_tenant_name


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
        """Write all that is held about an owner into a file of JSON lines; returns rows per table.

        The audit log tells of it.
        """
        scope = self._caller.scoped(owner)
        return await export_owner(self._caller.database, scope, check_path(path), replace=replace)

    async def import_(self, path: str | PathLike[str], *, embed: bool = True) -> Imported:
        """Take an exported file into this tenant, all of it or nothing; what is there already stays.

        Its memories are embedded anew, by this memory's model, unless `embed` is False or the embedder
        fails: then they are found by their words until `embed_backlog` has run. The audit log tells of it.
        """
        imported = await import_owner(self._caller.database, self._caller.scope, check_path(path))
        if embed:
            with suppress(EmbeddingError):
                await embed_backlog(self._caller.core)
        return replace(imported, awaiting_embedding_count=await count_backlog(self._caller.database))

    async def backup(self, path: str | PathLike[str], *, replace: bool = False) -> Backup:
        """Write everything, of all tenants, into one file, while others go on working.

        The audit log of this memory's tenant tells of it. The file holds the intent and not yet the
        outcome: where it is restored, its own making is listed as unfinished.
        """
        file, scope = check_path(path), nobodys(self._caller.scope)
        async with audited(
            self._caller.database, scope, action="backup", target=file_target(file), keeps_message=False
        ) as act:
            backup = await back_up(admin_conninfo(self._caller.core), file, replace=replace)
            act.outcome(size_bytes=backup.size_bytes)
        return backup

    async def restore(self, path: str | PathLike[str], *, replace: bool = False) -> None:
        """Bring back a backup into this place. What is there is replaced only if `replace` says so.

        Other processes that use the embedded server are disconnected from the old database. The audit log
        of this memory's tenant tells of it. A restore replaces that log, too: before it the intent is
        written where it is about to go, and stays there with `failed` if nothing comes of it. Into what is
        restored the intent is written before that takes the place, and the outcome right after.
        """
        core, backup = self._caller.core, check_path(path)
        async with core.closed_for_a_while():
            await restore_storage(core.settings, backup, replace=replace, by=self._caller.scope)

    async def embed_backlog(self) -> int:
        """Embed what was stored while the embedder failed; returns how many memories that were."""
        return await embed_backlog(self._caller.core)

    async def reembed(self, *, wait: bool = False) -> ModelChange:
        """Change to the embedder that this memory was opened with: embed everything anew, in the background.

        Until all is done, the model that serves now goes on doing so; then the other one takes its place at
        once, and the old vectors go. Calling it again says how far it is; `wait` waits for the end. Opened
        with the embedder that serves, it calls a change off. The audit log tells of it: the outcome comes
        when the other model serves, or the change was called off.
        """
        core = self._caller.core
        change = await ask_for_change(core, self._caller.scope)
        if not wait or change.job_id is None:
            return change
        await finish(core, change.job_id)
        return await read_change(core.storage.tenant_database)

    async def owners(self, *, after: str = "", limit: int = 100) -> Sequence[str]:
        """Owners that have memories, by name; `after` is the last one of the page before."""
        return await list_owners(self._caller.database, after=after, limit=limit)

    async def tenants(self, *, after: str = "", limit: int = 100) -> Sequence[TenantRecord]:
        """The tenants of this database, by name; `after` is the last one of the page before.

        A `postgresql://` URL must be that of an administrator: a superuser, or a role with BYPASSRLS.
        """
        return await list_tenants(self._administrator, after=after, limit=limit)

    async def create_tenant(self, name: str) -> Tenant:
        """Create a tenant, empty; ConflictError if there is one of this name."""
        checked, database = check_tenant_name(name), self._caller.core.storage.database
        try:
            await database.open_tenant(checked, create=False)
        except NotFoundError:
            return await database.open_tenant(checked)
        raise ConflictError(f"There is a tenant {checked!r} already.")

    async def delete_tenant(self, name: str) -> ErasureReceipt:
        """Delete another tenant with everything that it holds, for good; returns rows per table.

        Its API keys stop working, and processes that have it open get errors. The audit log of this memory's
        tenant records it. A `postgresql://` URL must be that of an administrator.
        """
        return await delete_tenant(
            self._caller.database, self._caller.scope, name, administrator=self._administrator
        )

    @property
    def _administrator(self) -> Administrator:
        core = self._caller.core
        return Administrator(admin_conninfo(core), limits_of(core.settings))

    async def stats(self) -> TenantStats:
        """How much this tenant holds."""
        await compare_waiting(self._caller.database)
        return await read_stats(self._caller.database)
