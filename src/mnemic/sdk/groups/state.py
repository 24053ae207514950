"""`memory.state`: JSON documents by key."""

from collections.abc import Sequence
from typing import Any

from mnemic.sdk.routing import CallGroup, routed
from mnemic.tiers import state_documents
from mnemic.types.tiers import StateDocument


class AsyncState(CallGroup):
    """Current state of an application: one JSON document per owner and key."""

    @routed("state.set")
    async def set(
        self, key: str, document: Any, *, expected_version: int | None = None, owner: str | None = None
    ) -> StateDocument:
        """Write a document and return it with its new version.

        With `expected_version` the document is written only if that is its current version (0: it must not
        exist). Otherwise ConflictError is raised and nothing is written.
        """
        return await state_documents.set_document(
            self._caller.database,
            self._caller.scoped(owner),
            key,
            document,
            expected_version=expected_version,
        )

    @routed("state.get")
    async def get(self, key: str, *, owner: str | None = None) -> StateDocument | None:
        """Return the document of a key, or None."""
        return await state_documents.get_document(self._caller.database, self._caller.scoped(owner), key)

    @routed("state.list")
    async def list(
        self, *, prefix: str = "", after: str = "", limit: int = 100, owner: str | None = None
    ) -> Sequence[StateDocument]:
        """Return documents by key; `after` is the last key of the previous page."""
        return await state_documents.list_documents(
            self._caller.database, self._caller.scoped(owner), prefix=prefix, after=after, limit=limit
        )

    @routed("state.delete")
    async def delete(
        self, key: str, *, expected_version: int | None = None, owner: str | None = None
    ) -> bool:
        """Delete a document; returns whether it existed with that version."""
        return await state_documents.delete_document(
            self._caller.database, self._caller.scoped(owner), key, expected_version=expected_version
        )
