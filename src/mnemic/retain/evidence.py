"""Link new memories to the memories that their evidence names."""

from collections.abc import Sequence
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.retain.items import Draft
from mnemic.types.scope import Scope


async def link_evidence(transaction: Transaction, scope: Scope, stored: Sequence[Draft]) -> None:
    """Record `derived_from` relationships; evidence that is no memory id of this owner is left as text."""
    pairs = [
        (chunk.memory_id, source_id)
        for draft in stored
        for source_id in map(_as_id, draft.item.evidence)
        if source_id is not None
        for chunk in draft.chunks
    ]
    if not pairs:
        return
    wanted = {"ids": sorted({source_id for _, source_id in pairs}), "owner": scope.require_owner()}
    existing = {row["memory_id"] for row in await transaction.rows("retain.existing_evidence", wanted)}
    links = [(memory_id, source_id) for memory_id, source_id in pairs if source_id in existing]
    parameters = {
        "tenant_id": transaction.tenant.id,
        "process": scope.process,
        "from_ids": [memory_id for memory_id, _ in links],
        "to_ids": [source_id for _, source_id in links],
    }
    await transaction.execute("retain.link_evidence", parameters)


def _as_id(reference: str) -> UUID | None:
    try:
        return UUID(reference)
    except ValueError:
        return None
