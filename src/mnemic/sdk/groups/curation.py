"""`memory.curation`: proposals of the curator, and everything that Mnemic changed on its own behalf."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from mnemic.curation import deciding, resolving, reviewing
from mnemic.curation.proposing import PROPOSALS_MAX
from mnemic.errors import InvalidInputError
from mnemic.record import change_log
from mnemic.record.memories import VERSION_MAX
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.changeset import Changeset, ChangesetPurpose, ChangesetState
from mnemic.types.checks import check_choice, check_flag, check_id, check_whole
from mnemic.types.curation import CURATION_KINDS, ChangesetDiff, CurationKind, CurationRun
from mnemic.types.review import (
    REVIEW_DECISIONS,
    REVIEW_KINDS,
    Resolution,
    ReviewDecision,
    ReviewKind,
    ReviewPage,
    Waiting,
)


class AsyncCuration(CallGroup):
    """Changesets: changes of memories that Mnemic proposes or has made, which can be shown and undone.

    A run of the curator stages changes: nothing changes, and recall does not see them, until they are
    applied. Contradictions, promotion and the daily cleanup are in the same list, applied already.
    """

    @routed("curation.propose")
    async def propose(
        self,
        *,
        kinds: Sequence[CurationKind] | None = None,
        limit: int = PROPOSALS_MAX,
        dry_run: bool = False,
        owner: str | None = None,
    ) -> CurationRun:
        """Read the owner's memories and stage what to promote, archive, prune, merge or supersede.

        A run reads up to 20,000 memories and makes at most `limit` proposals; the next one continues. With
        `dry_run=True` it only shows them. It never proposes anything twice, nor anything about anchored
        memories, turns or documents. Proposals of a kind with an automatic policy are applied at once.
        """
        return await deciding.propose_and_apply(
            self._caller.database,
            self._caller.scoped(owner),
            kinds=_check_kinds(kinds),
            limit=check_whole("limit", limit, 1, PROPOSALS_MAX),
            dry_run=check_flag("dry_run", dry_run),
        )

    @routed("curation.list")
    async def list(
        self,
        *,
        state: ChangesetState | None = None,
        purpose: ChangesetPurpose | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Changeset]:
        """Return changesets, newest first; `before` is the id of the last one of the previous page.

        Those in the state `staged` wait for a decision.
        """
        return await change_log.list_changesets(
            self._caller.database,
            self._caller.scoped(owner),
            state=state,
            purpose=purpose,
            before=before,
            limit=limit,
        )

    @routed("curation.get")
    async def get(self, changeset_id: UUID | str, *, owner: str | None = None) -> Changeset:
        """Return one changeset, with the number of its changes by state."""
        return await change_log.get_changeset(
            self._caller.database, self._caller.scoped(owner), check_id("changeset_id", changeset_id)
        )

    @routed("curation.diff")
    async def diff(
        self,
        changeset_id: UUID | str,
        *,
        after: int | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> ChangesetDiff:
        """Return the changes of a changeset in their order, each with the fields before and after it.

        `text` is the same for people. `next_after` of the result continues the list.
        """
        return await change_log.get_diff(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("changeset_id", changeset_id),
            after=after,
            limit=limit,
        )

    @routed("curation.approve")
    async def approve(
        self,
        changeset_id: UUID | str,
        *,
        change_ids: Sequence[UUID | str] | None = None,
        owner: str | None = None,
    ) -> Changeset:
        """Approve staged changes: all, or those that are named. `apply` then applies them."""
        return await deciding.approve(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("changeset_id", changeset_id),
            deciding.check_ids(change_ids),
        )

    @routed("curation.reject")
    async def reject(
        self,
        changeset_id: UUID | str,
        *,
        change_ids: Sequence[UUID | str] | None = None,
        owner: str | None = None,
    ) -> Changeset:
        """Reject open changes: all, or those that are named.

        They are not proposed again unless the memory changes.
        """
        return await deciding.reject(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("changeset_id", changeset_id),
            deciding.check_ids(change_ids),
        )

    @routed("curation.apply")
    async def apply(
        self,
        changeset_id: UUID | str,
        *,
        change_ids: Sequence[UUID | str] | None = None,
        owner: str | None = None,
    ) -> Changeset:
        """Apply the approved changes, or those that are named, all in one transaction.

        ChangeConflictError if a memory was changed since the proposal: it names each, and nothing changes.
        The action is recorded in the audit log.
        """
        return await deciding.apply(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("changeset_id", changeset_id),
            deciding.check_ids(change_ids),
        )

    @routed("curation.undo")
    async def undo(
        self,
        changeset_id: UUID | str,
        *,
        change_ids: Sequence[UUID | str] | None = None,
        owner: str | None = None,
    ) -> Changeset:
        """Undo the applied changes, or those that are named, all in one transaction.

        The memories get back exactly what they had before; the history keeps everything. Any changeset can be
        undone, whatever its purpose. Rejected changes wait for a decision again: those that are named or, if
        nothing is applied, all. ChangeConflictError if a memory was changed since: it names each, and nothing
        changes. The action is recorded in the audit log.
        """
        return await deciding.undo(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("changeset_id", changeset_id),
            deciding.check_ids(change_ids),
        )

    @routed("curation.waiting")
    async def waiting(self, *, owner: str | None = None) -> Waiting:
        """Return how much waits for a decision: pairs, memories in quarantine, and proposed changes.

        Each count stops at 200, so that the call stays cheap. It compares nothing.
        """
        return await reviewing.count_waiting(self._caller.database, self._caller.scoped(owner))

    @routed("curation.pairs")
    async def pairs(
        self, kind: ReviewKind, *, before: str | None = None, limit: int = 50, owner: str | None = None
    ) -> ReviewPage:
        """Return pairs that wait for a decision, newest first, with both memories.

        `near_duplicate` pairs have similar vectors, in a `contradiction` the newer one gives another value of
        the same attribute, and memories in `quarantine` contradict an active one that is anchored or from a
        better source. Turns and parts of longer texts are left out. Listing compares nothing:
        `uncompared_count` memories were not compared yet. `before` is `next_before` of the previous page.
        """
        return await reviewing.list_pairs(
            self._caller.database, self._caller.scoped(owner), kind, before=before, limit=limit
        )

    @routed("curation.resolve")
    async def resolve(
        self,
        kind: ReviewKind,
        memory_id: UUID | str,
        other_id: UUID | str | None = None,
        *,
        decision: ReviewDecision,
        memory_version: int | None = None,
        other_version: int | None = None,
        owner: str | None = None,
    ) -> Resolution:
        """Decide about a pair: `keep_new`, `keep_old` or `keep_both`.

        Of near duplicates, the other memory is merged into the kept one; of a contradiction, the older one is
        superseded or the newer one archived; a memory in quarantine becomes active or is archived.
        `memory_version` and `other_version` are the versions that were shown. ConflictError if somebody
        decided or changed a memory meanwhile: then nothing changes. `undo` with the `changeset_id` of the
        result, or `reopen` if it has none, takes the decision back. It is recorded in the audit log.
        """
        first, second = check_id("memory_id", memory_id), _optional_id(other_id)
        versions = {first: _version("memory_version", memory_version)}
        if second is not None:
            versions[second] = _version("other_version", other_version)
        choice = resolving.Choice(
            cast(ReviewKind, check_choice("kind", kind, REVIEW_KINDS)),
            first,
            second,
            cast(ReviewDecision, check_choice("decision", decision, REVIEW_DECISIONS)),
            {memory: version for memory, version in versions.items() if version is not None},
        )
        return await resolving.resolve(self._caller.database, self._caller.scoped(owner), choice)

    @routed("curation.reopen")
    async def reopen(
        self, kind: ReviewKind, memory_id: UUID | str, other_id: UUID | str, *, owner: str | None = None
    ) -> None:
        """Let a pair wait for a decision again that was decided by keeping both."""
        await resolving.reopen(
            self._caller.database,
            self._caller.scoped(owner),
            cast(ReviewKind, check_choice("kind", kind, REVIEW_KINDS)),
            check_id("memory_id", memory_id),
            check_id("other_id", other_id),
        )

    @routed("curation.policies")
    async def policies(self, *, owner: str | None = None) -> dict[str, bool]:
        """Return, for each kind of proposal, whether it is applied without asking."""
        return await deciding.read_policies(self._caller.database, self._caller.scoped(owner))

    @routed("curation.set_policy")
    async def set_policy(
        self, kind: CurationKind, *, automatic: bool, owner: str | None = None
    ) -> dict[str, bool]:
        """Apply proposals of a kind without asking, from the next run on, or no longer; returns all policies.

        The change is recorded in the audit log.
        """
        return await deciding.set_policy(
            self._caller.database, self._caller.scoped(owner), kind, is_automatic=automatic
        )


def _optional_id(other_id: UUID | str | None) -> UUID | None:
    return check_id("other_id", other_id) if other_id is not None else None


def _version(field: str, version: int | None) -> int | None:
    return check_whole(field, version, 1, VERSION_MAX) if version is not None else None


def _check_kinds(kinds: object) -> tuple[str, ...]:
    if kinds is None:
        return CURATION_KINDS
    if (
        isinstance(kinds, str)
        or not isinstance(kinds, Sequence)
        or not 1 <= len(kinds) <= len(CURATION_KINDS)
    ):
        raise InvalidInputError(f"kinds must be a list of some of: {', '.join(CURATION_KINDS)}.")
    return tuple(check_choice("kinds", kind, CURATION_KINDS) for kind in kinds)
