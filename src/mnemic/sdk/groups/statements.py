"""`memory.statements`: statements found in what was said, and how contradictions are decided."""

from collections.abc import Sequence
from uuid import UUID

from mnemic.extraction import statements
from mnemic.govern.groups import require_tenant
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.memory import Status
from mnemic.types.statement import (
    AttributeKind,
    ContradictionPolicy,
    ContradictionRule,
    RejectedStatement,
    Statement,
)


class AsyncStatements(CallGroup):
    """Statements that consolidation found in turns, notes and documents. Each is a memory, too.

    `memory.memories.why` shows the turns that a statement rests on; `memory.memories.forget` forgets it.
    """

    @routed("statements.list")
    async def list(
        self,
        *,
        subject: str | None = None,
        attribute: str | None = None,
        status: Status | None = "active",
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Statement]:
        """Return statements of the owner, newest first: current ones, or those with another status, or all.

        `before` is the `memory_id` of the last statement of the previous page.
        """
        return await statements.list_statements(
            self._caller.database,
            self._caller.scoped(owner),
            subject=subject,
            attribute=attribute,
            status=status,
            before=before,
            limit=limit,
        )

    @routed("statements.rejected")
    async def rejected(
        self, *, before: UUID | str | None = None, limit: int = 100, owner: str | None = None
    ) -> Sequence[RejectedStatement]:
        """Return statements that were proposed and not accepted, with the reasons, newest first."""
        return await statements.list_rejected(
            self._caller.database, self._caller.scoped(owner), before=before, limit=limit
        )

    @routed("statements.attributes")
    async def attributes(self) -> Sequence[AttributeKind]:
        """Return the attributes that the tenant has declared as single-valued or many-valued."""
        return await statements.list_attributes(self._caller.database)

    @routed("statements.set_attribute")
    async def set_attribute(self, attribute: str, *, is_single_valued: bool) -> AttributeKind:
        """Declare whether an attribute has one value at a time; for administrators, without an owner.

        A new value of a single-valued attribute supersedes the old one; attributes that nobody has declared
        and that are not built in have many values. Statements that are stored keep their kind.
        """
        require_tenant(self._scope)
        return await statements.set_attribute(
            self._caller.database, attribute, is_single_valued=is_single_valued
        )

    @routed("statements.remove_attribute")
    async def remove_attribute(self, attribute: str) -> bool:
        """Remove a declaration, so that the built-in kind holds again; for administrators."""
        require_tenant(self._scope)
        return await statements.remove_attribute(self._caller.database, attribute)

    @routed("statements.policies")
    async def policies(self) -> Sequence[ContradictionRule]:
        """Return the policies for contradictions that were set for the tenant and its channels."""
        return await statements.list_policies(self._caller.database)

    @routed("statements.set_policy")
    async def set_policy(
        self, policy: ContradictionPolicy, *, channel: str | None = None
    ) -> ContradictionRule:
        """Set what happens to contradicting statements, for a channel or the tenant; for administrators.

        `prefer_new`, the default, lets a new value supersede the old one; `prefer_old` keeps the old one;
        `flag_review` lets the new one wait for review. Decisions that were made stay.
        """
        require_tenant(self._scope)
        return await statements.set_policy(self._caller.database, policy, channel)

    @routed("statements.remove_policy")
    async def remove_policy(self, *, channel: str | None = None) -> bool:
        """Remove the policy of a channel, or of the tenant; for administrators."""
        require_tenant(self._scope)
        return await statements.remove_policy(self._caller.database, channel)
