"""`memory.channels`: channels and their branches: fork, merge, drop."""

from collections.abc import Mapping, Sequence

from mnemic.govern.branch_drop import drop_branch
from mnemic.record import branches
from mnemic.record.branch_merge import merge
from mnemic.record.near_duplicates import compare_pending
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.branch import BranchReceipt, Channel, Merge, MergeChoice
from mnemic.types.scope import GLOBAL_CHANNEL


class AsyncChannels(CallGroup):
    """Channels. A branch is a channel that was forked from another one, to try something out.

    It reads its own memories, and those of its parent as they were known at the fork. What is written,
    changed or forgotten in the branch stays there until the branch is merged.
    """

    @routed("channels.list")
    async def list(
        self, *, after: str | None = None, limit: int = 100, owner: str | None = None
    ) -> Sequence[Channel]:
        """Return the owner's channels that have memories, and its branches, by name.

        `after` is the name of the last channel of the previous page. It counts the memories of all channels,
        so that it takes longer the more the owner has.
        """
        return await branches.list_channels(
            self._caller.database, self._caller.scoped(owner), after=after, limit=limit
        )

    @routed("channels.fork")
    async def fork(
        self,
        channel: str,
        *,
        parent: str = GLOBAL_CHANNEL,
        reason: str | None = None,
        owner: str | None = None,
    ) -> Channel:
        """Create the branch `channel` of `parent`, and return it.

        From now on, calls with `channel=` this name read and write in the branch. Later changes of the parent
        are not visible there. ConflictError if the name is in use, or at the limit of branches or of their
        depth; NotFoundError if the parent does not exist.
        """
        return await branches.fork(
            self._caller.database, self._caller.scoped(owner), channel, parent=parent, reason=reason
        )

    @routed("channels.merge")
    async def merge(
        self,
        channel: str,
        *,
        dry_run: bool = False,
        choices: Mapping[str, MergeChoice] | None = None,
        otherwise: MergeChoice | None = None,
        owner: str | None = None,
    ) -> Merge:
        """Merge a branch into its parent, in one transaction, or show what merging would do (`dry_run`).

        The memories of the branch move to the parent; what the branch forgot or replaced is forgotten or
        superseded there. `choices` decide conflicts, by their `conflict_id`: the memory of the `branch`
        counts, that of the `parent` (the other one stays in the branch), or `both`. `otherwise` decides the
        rest; duplicates are left behind by default. ConflictError names conflicts without a choice, and
        nothing is merged. `memory.curation.undo` with the `changeset_id` of the result undoes the merge.
        """
        scope = self._caller.scoped(owner)
        # Conflicts of values are found by comparing memories, which may still be pending.
        await compare_pending(self._caller.database, owner=scope.require_owner())
        return await merge(
            self._caller.database, scope, channel, dry_run=dry_run, choices=choices or {}, otherwise=otherwise
        )

    @routed("channels.drop")
    async def drop(self, channel: str, *, owner: str | None = None) -> BranchReceipt:
        """Delete a branch and everything that was stored in it, permanently; returns the numbers of rows.

        Of a merged branch only the rest is deleted, that was not merged. ConflictError while it has open
        branches of its own; NotFoundError if it is no branch. It is recorded in the audit log, without the
        name.
        """
        return await drop_branch(self._caller.database, self._caller.scoped(owner), channel)
