"""`memory.documents`: named documents, which recall searches like other memories."""

import asyncio
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import UUID

from mnemic.documents import reference_documents as documents
from mnemic.documents import sources
from mnemic.documents.isolated_reading import read_isolated
from mnemic.documents.reading.file import read_file
from mnemic.documents.reading.media_types import MediaType, media_type_of
from mnemic.errors import InvalidInputError
from mnemic.runtime.job_waiting import finish_job
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.document import DocumentChunk, Ingestion, ReferenceDocument
from mnemic.types.scope import check_name


class AsyncDocuments(CallGroup):
    """Documents by name: `put` stores short ones, `ingest` reads large ones and files in the background."""

    @routed("documents.put")
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
        """Store a document. Storing the same text again does nothing; another text supersedes the old one."""
        return await documents.put_document(
            self._caller,
            name,
            content,
            title=title,
            tags=tags,
            metadata=metadata,
            owner=owner,
            channel=channel,
        )

    @routed("documents.ingest")
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
        """Ingest a document: text, or the bytes of a plain text, Markdown, HTML or PDF file.

        The document is durable when the call returns; a job makes it searchable chunk by chunk. `wait` waits
        for the end of that job. Ingesting the same document again does nothing; of a changed one, only
        changed chunks are embedded. `media_type` is the kind of document, by default that of the extension of
        its name. PDF needs the extra `documents`.
        """
        scope = self._caller.scoped(owner, channel)
        if (content is None) == (data is None):
            raise InvalidInputError("Give either content, as text, or data, in bytes.")
        kind = media_type_of(media_type, check_name("name", name), data)
        source = content if content is not None else data or b""
        reading = await read_isolated(self._caller.core, source, kind)
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
        await finish_job(self._caller.core, filed.job_id)
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
        """Ingest a local file under its own name unless another is given; see `ingest`."""
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

    @routed("documents.status")
    async def status(self, name: str, *, owner: str | None = None) -> Ingestion:
        """Return the progress of an ingestion; `memory.jobs.status(job_id)` returns more."""
        return await sources.read_ingestion(self._caller.database, self._caller.scoped(owner), name)

    @routed("documents.chunks")
    async def chunks(
        self,
        name: str,
        *,
        memory_id: UUID | None = None,
        after: int = -1,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[DocumentChunk]:
        """Return the chunks of an ingested document with their positions in the text, in order.

        `memory_id` selects the chunk of one memory. `after` is the last `chunk_index` of the previous page.
        """
        return await sources.list_chunks(
            self._caller.database,
            self._caller.scoped(owner),
            name,
            memory_id=memory_id,
            after=after,
            limit=limit,
        )

    @routed("documents.text")
    async def text(self, name: str, *, owner: str | None = None) -> str:
        """Return the whole text of a document: as it was put, or as it was read from its file."""
        return await documents.read_text(self._caller.database, self._caller.scoped(owner), name)

    @routed("documents.get")
    async def get(self, name: str, *, owner: str | None = None) -> ReferenceDocument:
        """Return the entry of a document, without its text."""
        return await documents.get_document(self._caller.database, self._caller.scoped(owner), name)

    @routed("documents.list")
    async def list(
        self, *, after: str = "", limit: int = 100, owner: str | None = None
    ) -> Sequence[ReferenceDocument]:
        """Return documents by name; `after` is the last name of the previous page."""
        return await documents.list_documents(
            self._caller.database, self._caller.scoped(owner), after=after, limit=limit
        )

    @routed("documents.delete")
    async def delete(self, name: str, *, owner: str | None = None) -> bool:
        """Forget a document and all memories made from it; returns whether it existed."""
        return await documents.delete_document(self._caller.database, self._caller.scoped(owner), name)
