"""`memory.documents`: texts under names, recalled like every other memory."""

import asyncio
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import UUID

from mnemic.documents import reference_documents as documents
from mnemic.documents import sources
from mnemic.documents.reading.file import read_file
from mnemic.documents.reading.source import MediaType, media_type_of, read_source
from mnemic.errors import InvalidInputError
from mnemic.retain.calls import retain_items
from mnemic.runtime.core import Caller
from mnemic.sdk.finishing import finish
from mnemic.types.document import DocumentChunk, Ingestion, ReferenceDocument
from mnemic.types.retained import Retained
from mnemic.types.scope import check_name


class AsyncDocuments:
    """Documents by name: short ones are put, large ones and files are ingested in the background."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def put(
        self,
        name: str,
        content: str,
        *,
        title: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        owner: str | None = None,
        channel: str | None = None,
    ) -> ReferenceDocument:
        """Store a document. The same text again changes nothing; another one supersedes the old text."""

        async def store(text: str, and_then: documents.AndThen) -> Retained:
            fields = {
                "category": "reference",
                "source": "imported",
                "tags": tags,
                "metadata": {**(metadata or {}), "document": name},
            }
            return await retain_items(
                self._caller, [text], fields, owner=owner, channel=channel, and_then=and_then
            )

        return await documents.put_document(
            self._caller.database,
            self._caller.scoped(owner, channel),
            name,
            content,
            title=title,
            metadata=metadata or {},
            store=store,
        )

    async def ingest(
        self,
        name: str,
        content: str | None = None,
        *,
        data: bytes | None = None,
        media_type: MediaType | None = None,
        title: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        wait: bool = False,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Ingestion:
        """Take a document in, as text or as the bytes of a file: plain text, Markdown, HTML or PDF.

        It is durable when the call returns, and found chunk by chunk as a job makes them; `wait` waits for
        all. The same document again does nothing; a changed one has only those chunks embedded that changed.
        What kind it is says `media_type`, else the ending of its name. PDF needs the extra `documents`.
        """
        scope = self._caller.scoped(owner, channel)
        if (content is None) == (data is None):
            raise InvalidInputError("Give either content, as text, or data, in bytes.")
        kind = media_type_of(media_type, check_name("name", name), data)
        # Reading a large file takes seconds, in which others want to go on.
        source = content if content is not None else data or b""
        reading = await asyncio.to_thread(read_source, source, kind)
        filed = await sources.store_source(
            self._caller.database,
            scope,
            name,
            reading,
            media_type=kind,
            title=title,
            tags=tags,
            metadata=metadata or {},
        )
        if not wait or filed.is_complete or filed.job_id is None:
            return filed
        await finish(self._caller.core, filed.job_id)
        return await sources.read_ingestion(self._caller.database, scope, name)

    async def ingest_file(
        self,
        path: str | PathLike[str],
        *,
        name: str | None = None,
        media_type: MediaType | None = None,
        title: str | None = None,
        tags: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        wait: bool = False,
        owner: str | None = None,
        channel: str | None = None,
    ) -> Ingestion:
        """Take a file of this machine in, under its own name unless another one is given; see `ingest`."""
        data = await asyncio.to_thread(read_file, path)
        return await self.ingest(
            name if name is not None else Path(path).name,
            data=data,
            media_type=media_type_of(media_type, Path(path).name, data),
            title=title,
            tags=tags,
            metadata=metadata,
            wait=wait,
            owner=owner,
            channel=channel,
        )

    async def status(self, name: str, *, owner: str | None = None) -> Ingestion:
        """How far the ingestion of a document has come; `memory.jobs.status(job_id)` says more."""
        return await sources.read_ingestion(self._caller.database, self._caller.scoped(owner), name)

    async def chunks(
        self,
        name: str,
        *,
        memory_id: UUID | None = None,
        after: int = -1,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[DocumentChunk]:
        """Where the memories of an ingested document stand in its text, in order; `memory_id` asks for one.

        `after` is the last `chunk_index` of the page before.
        """
        return await sources.list_chunks(
            self._caller.database,
            self._caller.scoped(owner),
            name,
            memory_id=memory_id,
            after=after,
            limit=limit,
        )

    async def text(self, name: str, *, owner: str | None = None) -> str:
        """The whole text of a document: as it was put, or as it was read from its file."""
        return await documents.read_text(self._caller.database, self._caller.scoped(owner), name)

    async def get(self, name: str, *, owner: str | None = None) -> ReferenceDocument:
        """The entry of a document, without its text."""
        return await documents.get_document(self._caller.database, self._caller.scoped(owner), name)

    async def list(
        self, *, after: str = "", limit: int = 100, owner: str | None = None
    ) -> Sequence[ReferenceDocument]:
        """Documents by name; `after` is the last name of the page before."""
        return await documents.list_documents(
            self._caller.database, self._caller.scoped(owner), after=after, limit=limit
        )

    async def delete(self, name: str, *, owner: str | None = None) -> bool:
        """Forget a document with all memories made from it; returns whether there was one."""
        return await documents.delete_document(self._caller.database, self._caller.scoped(owner), name)
