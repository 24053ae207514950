"""Reference documents: a text under a name, found by recall like every other memory.

Putting the same text again changes nothing; putting another one supersedes the old text. The text is stored
by `retain`, in the same transaction as the entry here. Larger documents are ingested in the background
(`documents/ingestion.py`); both kinds share one list of names.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.record.memories import read_whole
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller
from mnemic.types.checks import check_text
from mnemic.types.document import ReferenceDocument
from mnemic.types.page import check_limit
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope, check_name

TITLE_MAX_CHARACTERS = 512


async def put_document(
    caller: Caller,
    name: str,
    content: str,
    *,
    title: str | None,
    tags: Sequence[str],
    metadata: Mapping[str, Any] | None,
    owner: str | None,
    channel: str | None,
) -> ReferenceDocument:
    """Write a document; a different text that it had before is superseded."""
    database, scope = caller.database, caller.scoped(owner, channel)
    text = check_text("content", content)
    entry = {
        "owner": scope.require_owner(),
        "name": check_name("name", name),
        "title": check_text("title", title, max_characters=TITLE_MAX_CHARACTERS)
        if title is not None
        else None,
        "metadata": as_jsonb_object("metadata", metadata or {}),
        "content_hash": sha256(text.encode()).digest(),
        "character_count": len(text),
        "process": scope.process,
    }
    if await _has_content(database, entry):
        return await get_document(database, scope, name)

    async def store_entry(transaction: Transaction, retained: Retained) -> None:
        if not retained.memory_ids:
            raise InvalidInputError(f"The text of {name!r} was refused: {retained.refused[0].reason}")
        await _store_entry(transaction, entry, retained.memory_ids[0])

    fields = {
        "category": "reference",
        "source": "imported",
        "tags": tags,
        "metadata": {**(metadata or {}), "document": name},
    }
    await retain_items(caller, [content], fields, owner=owner, channel=channel, and_then=store_entry)
    return await get_document(database, scope, name)


async def get_document(database: TenantDatabase, scope: Scope, name: str) -> ReferenceDocument:
    """The entry of a document; NotFoundError if the owner has none of that name."""
    parameters = {"owner": scope.require_owner(), "name": check_name("name", name)}
    async with database.transaction() as transaction:
        row = await transaction.first("documents.get", parameters)
    if row is None:
        raise NotFoundError(f"There is no document {name!r} of this owner.")
    return ReferenceDocument(**row)


async def read_text(database: TenantDatabase, scope: Scope, name: str) -> str:
    """The text of a document, as it was put or as it was read from its file."""
    document = await get_document(database, scope, name)
    if document.whole_id is not None:
        return await read_whole(database, scope, document.whole_id)
    async with database.transaction() as transaction:
        row = await transaction.one("ingest.text", {"document_id": document.document_id})
    return str(row["content"])


async def list_documents(
    database: TenantDatabase, scope: Scope, *, after: str, limit: int
) -> list[ReferenceDocument]:
    """Documents by name, after the name `after`."""
    parameters = {
        "owner": scope.require_owner(),
        "after": check_name("after", after) if after != "" else "",
        "limit": check_limit(limit),
    }
    async with database.transaction() as transaction:
        return [ReferenceDocument(**row) for row in await transaction.rows("documents.list", parameters)]


async def delete_document(database: TenantDatabase, scope: Scope, name: str) -> bool:
    """Forget a document and its text; returns whether there was one."""
    key = {"owner": scope.require_owner(), "name": check_name("name", name)}

    async def delete(transaction: Transaction) -> bool:
        await transaction.one("documents.lock", key)
        document = await transaction.first("documents.get", key)
        if document is None:
            return False
        chunks = await transaction.rows("ingest.remove_all_chunks", {"document_id": document["document_id"]})
        await transaction.execute("documents.delete", key)
        await transaction.execute("documents.forget_text", key | {"whole_id": document["whole_id"]})
        forgotten = {
            "ids": sorted({row["memory_id"] for row in chunks}),
            "changed_by": "user",
            "reason": "document deleted",
        }
        await transaction.execute("ingest.forget_chunks", forgotten)
        return True

    return await database.run(delete)


async def _has_content(database: TenantDatabase, entry: Mapping[str, Any]) -> bool:
    async with database.transaction() as transaction:
        return bool((await transaction.one("documents.has_content", entry))["has_content"])


async def _store_entry(transaction: Transaction, entry: Mapping[str, Any], whole_id: UUID) -> None:
    # Serialise writers of one document: otherwise both would supersede the same old text.
    await transaction.one("documents.lock", entry)
    before = await transaction.first("documents.get", entry)
    if before is not None and before["whole_id"] is None:
        raise ConflictError(
            f"The document {entry['name']!r} was ingested: ingest its new text, or delete it first."
        )
    await transaction.one(
        "documents.put", {**entry, "tenant_id": transaction.tenant.id, "whole_id": whole_id}
    )
    if before is not None and before["whole_id"] != whole_id:
        await transaction.execute(
            "documents.supersede_text",
            {"owner": entry["owner"], "whole_id": before["whole_id"], "new_whole_id": whole_id},
        )
