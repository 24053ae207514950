"""`memory.actors`: flags on actors that should not be trusted."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from mnemic.sdk.routing import CallGroup, routed
from mnemic.tiers import flagged_actors
from mnemic.types.tiers import ActorFlag, Severity


class AsyncActors(CallGroup):
    """Flags on people, accounts and agents that an owner should not trust, with reasons."""

    @routed("actors.flag")
    async def flag(
        self,
        actor: str,
        *,
        reason: str,
        severity: Severity = "medium",
        evidence: Iterable[str | UUID] | str | UUID = (),
        at: datetime | str | None = None,
        owner: str | None = None,
    ) -> ActorFlag:
        """Flag an actor. Flagging it again adds a flag; `evidence` refers to memories or other sources."""
        return await flagged_actors.flag_actor(
            self._caller.database,
            self._caller.scoped(owner),
            actor,
            reason=reason,
            severity=severity,
            evidence=evidence,
            at=at,
        )

    @routed("actors.clear")
    async def clear(self, actor: str, *, reason: str, owner: str | None = None) -> int:
        """Clear all open flags of an actor and return their number. Cleared flags are kept as history."""
        return await flagged_actors.clear_actor(
            self._caller.database, self._caller.scoped(owner), actor, reason=reason
        )

    @routed("actors.is_flagged")
    async def is_flagged(self, actor: str, *, owner: str | None = None) -> bool:
        """Return whether an actor has an open flag."""
        return await flagged_actors.is_flagged(self._caller.database, self._caller.scoped(owner), actor)

    @routed("actors.list")
    async def list(
        self,
        *,
        actor: str | None = None,
        include_cleared: bool = False,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[ActorFlag]:
        """Return flags, newest first; `before` is the `flag_id` of the last flag of the previous page."""
        return await flagged_actors.list_flags(
            self._caller.database,
            self._caller.scoped(owner),
            actor=actor,
            include_cleared=include_cleared,
            before=before,
            limit=limit,
        )
