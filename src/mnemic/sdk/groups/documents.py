"""`memory.documents`: texts under names, recalled like every other memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from mnemic.record import documents
from mnemic.sdk.core import Caller
from mnemic.sdk.retaining import retain_items
from mnemic.types.document import ReferenceDocument
from mnemic.types.retained import Retained


class AsyncDocuments:
    """Reference documents by name. Long ones are split into chunks that give the text back exactly."""

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
            fields = {"category": "reference", "source": "imported", "tags": tags, "metadata": metadata}
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

    async def get(self, name: str, *, owner: str | None = None) -> ReferenceDocument:
        """The entry of a document; its text is `memory.memories.whole(document.whole_id)`."""
        return await documents.get_document(self._caller.database, self._caller.scoped(owner), name)

    async def list(
        self, *, after: str = "", limit: int = 100, owner: str | None = None
    ) -> Sequence[ReferenceDocument]:
        """Documents by name; `after` is the last name of the page before."""
        return await documents.list_documents(
            self._caller.database, self._caller.scoped(owner), after=after, limit=limit
        )

    async def delete(self, name: str, *, owner: str | None = None) -> bool:
        """Forget a document and its text; returns whether there was one."""
        return await documents.delete_document(self._caller.database, self._caller.scoped(owner), name)
