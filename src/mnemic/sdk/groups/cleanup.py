"""`memory.cleanup`: memories that could be archived, with a dry run and undo."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from mnemic.curation import cleaning
from mnemic.curation.deciding import check_ids
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.checks import check_choice, check_flag, check_share, check_whole
from mnemic.types.cleanup import (
    CLEANUP_KINDS,
    SALIENCE_BELOW,
    UNUSED_DAYS,
    UNUSED_DAYS_MAX,
    CleanupCount,
    CleanupKind,
    CleanupPage,
    CleanupRun,
)
from mnemic.types.page import check_limit


class AsyncCleanup(CallGroup):
    """Memories that could be archived: stale, expired, never recalled, or with links that lead to nothing.

    Anchored memories, turns, documents, goals and memories of branches are left out. Nothing is deleted:
    everything is archived through the change log, and `memory.curation.undo` brings it back.
    """

    @routed("cleanup.counts")
    async def counts(self, *, refresh: bool = False, owner: str | None = None) -> Sequence[CleanupCount]:
        """Return how many memories each kind finds, with the time of counting.

        Counting reads all memories of the owner, at most 100,000 of each kind, so the daily cleanup counts,
        and the counts are stored; `refresh=True` counts now. The result is empty if nobody has counted yet.
        """
        return await cleaning.read_counts(
            self._caller.database, self._caller.scoped(owner), refresh=check_flag("refresh", refresh)
        )

    @routed("cleanup.list")
    async def list(
        self,
        kind: CleanupKind,
        *,
        unused_days: int = UNUSED_DAYS,
        salience_below: float = SALIENCE_BELOW,
        after: str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> CleanupPage:
        """Return memories that could be archived, oldest first in each category, with the reason.

        `stale` ones were recalled, but not for `unused_days`, and their salience is below `salience_below`;
        `never_recalled` ones were stored before that. `dead_links` name evidence that is gone, or were
        replaced by a memory that is forgotten. `after` is `next_after` of the previous page.
        """
        return await cleaning.list_candidates(
            self._caller.database,
            self._caller.scoped(owner),
            _check_kind(kind),
            _check_limits(unused_days, salience_below),
            after=after,
            limit=check_limit(limit),
        )

    @routed("cleanup.archive")
    async def archive(
        self,
        kind: CleanupKind,
        *,
        memory_ids: Sequence[UUID | str] | None = None,
        unused_days: int = UNUSED_DAYS,
        salience_below: float = SALIENCE_BELOW,
        dry_run: bool = False,
        owner: str | None = None,
    ) -> CleanupRun:
        """Archive the named memories, or all that qualify, at most 1,000, as one changeset.

        With `dry_run=True` it only shows the changes. `memory.curation.undo` with the `changeset_id` takes
        the whole run back. A named memory that does not qualify any more is left out and named. Of
        `dead_links`, evidence that leads to nothing is removed, and the memory stays. The run is recorded in
        the audit log.
        """
        return await cleaning.archive(
            self._caller.database,
            self._caller.scoped(owner),
            _check_kind(kind),
            _check_limits(unused_days, salience_below),
            memory_ids=check_ids(memory_ids, "memory_ids"),
            dry_run=check_flag("dry_run", dry_run),
        )


def _check_kind(kind: object) -> CleanupKind:
    return cast(CleanupKind, check_choice("kind", kind, CLEANUP_KINDS))


def _check_limits(unused_days: object, salience_below: object) -> cleaning.CleanupLimits:
    return cleaning.CleanupLimits(
        check_whole("unused_days", unused_days, 1, UNUSED_DAYS_MAX),
        check_share("salience_below", salience_below),
    )
