"""`memory.triples`: statements of subject, predicate and object."""

from collections.abc import Sequence
from uuid import UUID

from mnemic.knowledge import triples
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.entity import Triple
from mnemic.types.memory import Provenance


class AsyncTriples(CallGroup):
    """Statements between texts, unique per owner and case-sensitive."""

    @routed("triples.add")
    async def add(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        confidence: float = 1.0,
        provenance: Provenance = "witnessed",
        evidence: UUID | str | None = None,
        owner: str | None = None,
    ) -> Triple:
        """Add a statement; adding it again updates confidence and provenance. `evidence` is a memory's id."""
        return await triples.add_triple(
            self._caller.database,
            self._caller.scoped(owner),
            subject,
            predicate,
            object,
            confidence=confidence,
            provenance=provenance,
            evidence=evidence,
        )

    @routed("triples.list")
    async def list(
        self,
        *,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Triple]:
        """Return matching statements, newest first; `before` is the last id of the previous page."""
        return await triples.list_triples(
            self._caller.database,
            self._caller.scoped(owner),
            subject=subject,
            predicate=predicate,
            statement_object=object,
            before=before,
            limit=limit,
        )

    @routed("triples.remove")
    async def remove(self, triple: Triple | UUID | str, *, owner: str | None = None) -> bool:
        """Remove a statement, given as a `Triple` or an id; returns whether it existed."""
        return await triples.remove_triple(self._caller.database, self._caller.scoped(owner), triple)
