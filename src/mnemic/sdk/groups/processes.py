"""`memory.processes`: attributes of the processes of a system."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from mnemic.sdk.routing import CallGroup, routed
from mnemic.tiers import process_attributes
from mnemic.types.memory import Provenance
from mnemic.types.tiers import ProcessAttribute


class AsyncProcesses(CallGroup):
    """Attributes of processes, each with its provenance. `process` defaults to the process of the memory."""

    @routed("processes.set")
    async def set(
        self,
        attribute: str,
        value: Any,
        *,
        process: str | None = None,
        provenance: Provenance = "witnessed",
        evidence: Iterable[str | UUID] | str | UUID = (),
        confidence: float = 1.0,
        owner: str | None = None,
    ) -> ProcessAttribute:
        """Set an attribute to any JSON value, replacing the old one.

        `provenance` is measured, reasoned or witnessed; `evidence` refers to memories or other sources.
        """
        return await process_attributes.set_attribute(
            self._caller.database,
            self._caller.scoped(owner),
            attribute,
            value,
            process=process,
            provenance=provenance,
            evidence=evidence,
            confidence=confidence,
        )

    @routed("processes.get")
    async def get(
        self, attribute: str, *, process: str | None = None, owner: str | None = None
    ) -> ProcessAttribute | None:
        """Return one attribute, or None."""
        return await process_attributes.get_attribute(
            self._caller.database, self._caller.scoped(owner), attribute, process=process
        )

    @routed("processes.list")
    async def list(
        self,
        *,
        process: str | None = None,
        after: str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[ProcessAttribute]:
        """Return attributes by name; `after` is the last name of the previous page."""
        return await process_attributes.list_attributes(
            self._caller.database, self._caller.scoped(owner), process=process, after=after, limit=limit
        )
