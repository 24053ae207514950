"""`memory.admin`: erasure, export and import, backup and restore, statistics.

Calls that destroy or export data write the audit log themselves, so every interface is audited: one record of
the intent before the operation, one of the outcome after it, with counts and without stored content.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from uuid import UUID

from mnemic.backup.dump import Backup, back_up
from mnemic.backup.files import check_path
from mnemic.backup.owner_transfer import Imported, export_owner, import_owner
from mnemic.backup.restore import admin_conninfo, restore_storage
from mnemic.db.tenancy import Tenant
from mnemic.embeddings.backlog import embed_backlog
from mnemic.embeddings.indexes import drop_indexes_of
from mnemic.embeddings.model_change import ask_for_change, read_change
from mnemic.errors import ConflictError, EmbeddingError, NotFoundError
from mnemic.govern.audit import audited, file_target, without_owner
from mnemic.govern.erase import erase_owner, get_receipt, list_receipts
from mnemic.govern.owner_counts import count_changed, list_owner_counts, read_kept_stats
from mnemic.govern.owners import count_backlog, list_owners, read_stats
from mnemic.govern.tenants import Administrator, delete_tenant, list_tenants
from mnemic.record.near_duplicates import compare_pending
from mnemic.runtime.job_waiting import finish_job
from mnemic.runtime.storage import limits_of
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.checks import check_choice, check_flag
from mnemic.types.embedding import ModelChange
from mnemic.types.owner_counts import OwnerCounts, OwnerOrder
from mnemic.types.receipt import ErasureMode, ErasureReceipt
from mnemic.types.scope import check_name
from mnemic.types.stats import TenantStats
from mnemic.types.tenant import TenantRecord, check_tenant_name


class AsyncAdmin(CallGroup):
    """Operations on all data of an owner, or on the whole database."""

    @routed("admin.erase")
    async def erase(self, owner: str, *, mode: ErasureMode = "erase") -> ErasureReceipt:
        """Erase or archive all data of an owner; returns a receipt with the number of rows per table.

        `erase` removes everything, including history and logs, and cannot be undone. `archive` only excludes
        the owner's memories from recall. The audit log keeps the receipt without the owner's name.
        """
        check_choice("mode", mode, ("erase", "archive"))
        # Never the default owner: a missing name must not erase anybody.
        scope = self._caller.scoped(check_name("owner", owner))
        receipt = await erase_owner(self._caller.database, scope, mode=mode)
        if mode == "erase":
            await drop_indexes_of(self._caller.core, owner)
        return receipt

    @routed("admin.receipt")
    async def receipt(self, receipt_id: UUID | str) -> ErasureReceipt:
        """Return the receipt of an erasure or archiving again, from the audit log."""
        return await get_receipt(self._caller.database, receipt_id)

    @routed("admin.receipts")
    async def receipts(
        self, *, before: UUID | str | None = None, limit: int = 100
    ) -> Sequence[ErasureReceipt]:
        """Return receipts, newest first; `before` is the last `receipt_id` of the previous page."""
        return await list_receipts(self._caller.database, before=before, limit=limit)

    @routed("admin.export")
    async def export(
        self, path: str | PathLike[str], *, owner: str | None = None, replace: bool = False
    ) -> dict[str, int]:
        """Write all data of an owner to a file of JSON lines; returns the number of rows per table.

        Over HTTP, the file is written on the machine of the caller. The export is recorded in the audit log.
        """
        scope = self._caller.scoped(owner)
        return await export_owner(self._caller.database, scope, check_path(path), replace=replace)

    @routed("admin.import_")
    async def import_(self, path: str | PathLike[str], *, embed: bool = True) -> Imported:
        """Import an exported file into this tenant, all of it or nothing; rows that exist are kept.

        The memories are embedded by the model of this memory. If `embed` is False or the embedder fails,
        recall finds them only by their words until `embed_backlog` has run. The import is recorded in the
        audit log.
        """
        imported = await import_owner(self._caller.database, self._scope, check_path(path))
        if embed:
            with suppress(EmbeddingError):
                await embed_backlog(self._caller.core)
        return replace(imported, awaiting_embedding_count=await count_backlog(self._caller.database))

    @routed("admin.backup")
    async def backup(self, path: str | PathLike[str], *, replace: bool = False) -> Backup:
        """Write the data of all tenants to one file, while other processes keep working.

        The backup is recorded in the audit log of this memory's tenant. The file contains the record of the
        intent, but not of the outcome: a restored database lists its own backup as unfinished.
        """
        file, scope = check_path(path), without_owner(self._scope)
        async with audited(
            self._caller.database, scope, action="backup", target=file_target(file), keeps_message=False
        ) as act:
            backup = await back_up(admin_conninfo(self._caller.core), file, replace=replace)
            act.outcome(size_bytes=backup.size_bytes)
        return backup

    @routed("admin.restore")
    async def restore(self, path: str | PathLike[str], *, replace: bool = False) -> None:
        """Restore a backup into this database; existing data is replaced only with `replace=True`.

        Other processes that use the embedded server are disconnected. The restore is recorded in the audit
        log of this memory's tenant. Because it replaces that log, the intent is written twice: to the old
        database, where it is completed with `failed` if the restore fails, and to the restored one before
        that is put in place. The outcome follows in the restored one.
        """
        core, backup = self._caller.core, check_path(path)
        async with core.closed_for_a_while():
            await restore_storage(core.settings, backup, replace=replace, by=self._scope)

    @routed("admin.embed_backlog")
    async def embed_backlog(self) -> int:
        """Embed the memories that were stored while the embedder failed; returns how many."""
        return await embed_backlog(self._caller.core)

    @routed("admin.reembed")
    async def reembed(self, *, wait: bool = False) -> ModelChange:
        """Change to the embedder of this memory: embed all memories again, in the background.

        The current model serves until all memories are embedded; then the new model replaces it and the old
        vectors are deleted. Calling it again returns the progress; `wait` waits for the end. A call with the
        embedder that serves already cancels a change that is under way. The change is recorded in the audit
        log; the outcome is written when the new model serves or the change is cancelled.
        """
        core = self._caller.core
        change = await ask_for_change(core, self._scope)
        if not wait or change.job_id is None:
            return change
        await finish_job(core, change.job_id)
        return await read_change(core.storage.tenant_database)

    @routed("admin.owners")
    async def owners(self, *, after: str = "", limit: int = 100) -> Sequence[str]:
        """Return the owners that have memories, by name; `after` is the last name of the previous page."""
        return await list_owners(self._caller.database, after=after, limit=limit)

    @routed("admin.owner_counts")
    async def owner_counts(
        self, *, prefix: str = "", order: OwnerOrder = "name", after: str = "", limit: int = 100
    ) -> Sequence[OwnerCounts]:
        """Return the owners whose names start with `prefix`, with what each holds and its last activity.

        `order` is by name, or by number of memories or last activity, highest first; `after` is the last
        owner of the previous page. Counts are made every hour and have an age, `counted_at`; this call counts
        owners of up to 1,000 memories again, if they changed.
        """
        return await list_owner_counts(
            self._caller.database, prefix=prefix, order=order, after=after, limit=limit
        )

    @routed("admin.count_owners")
    async def count_owners(self) -> int:
        """Count now all owners that changed since they were counted; returns how many.

        It takes most of a second for every 100,000 memories. A job does the same every hour.
        """
        return await count_changed(self._caller.database)

    @routed("admin.tenants")
    async def tenants(self, *, after: str = "", limit: int = 100) -> Sequence[TenantRecord]:
        """Return the tenants of this database by name; `after` is the last name of the previous page.

        A `postgresql://` URL must be that of an administrator: a superuser, or a role with BYPASSRLS.
        """
        return await list_tenants(self._administrator, after=after, limit=limit)

    @routed("admin.create_tenant")
    async def create_tenant(self, name: str) -> Tenant:
        """Create a tenant, empty; ConflictError if there is one of this name."""
        checked, database = check_tenant_name(name), self._caller.core.storage.database
        try:
            await database.open_tenant(checked, create=False)
        except NotFoundError:
            return await database.open_tenant(checked)
        raise ConflictError(f"There is a tenant {checked!r} already.")

    @routed("admin.delete_tenant")
    async def delete_tenant(self, name: str) -> ErasureReceipt:
        """Delete another tenant with everything that it holds, for good; returns rows per table.

        Its API keys stop working, and processes that have it open get errors. The audit log of this memory's
        tenant records it. A `postgresql://` URL must be that of an administrator.
        """
        return await delete_tenant(
            self._caller.database, self._scope, name, administrator=self._administrator
        )

    @property
    def _administrator(self) -> Administrator:
        core = self._caller.core
        return Administrator(admin_conninfo(core), limits_of(core.settings))

    @routed("admin.stats")
    async def stats(self, *, exact: bool = True) -> TenantStats:
        """Return how much data the tenant holds.

        Counting takes most of a second for every 100,000 memories. `exact=False` adds up the counts of
        `owner_counts` instead; `counted_at` is the age of the oldest one.
        """
        if not check_flag("exact", exact):
            return await read_kept_stats(self._caller.database)
        await compare_pending(self._caller.database)
        return await read_stats(self._caller.database)
