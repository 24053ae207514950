"""`memory.memories`: single memories, their versions and their relationships."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.errors import InvalidInputError
from mnemic.extraction.restoring import follow_forgetting, follow_restoring
from mnemic.memory_map.reading import read_map, request_map
from mnemic.promotion.promoting import list_promotions
from mnemic.record import feedback, memories, relationships
from mnemic.record.branches import forget_in_branch, read_in_branch, restore_in_branch
from mnemic.record.outdated_memories import OutdatedDecision, OutdatedMemory, decide_outdated
from mnemic.record.relationships import Decision, NearDuplicate
from mnemic.record.why import explain_memory
from mnemic.retain.branch_changes import replace_in_branch
from mnemic.retain.items import check_fields
from mnemic.retain.reembed import reembed
from mnemic.retain.supersede import supersede
from mnemic.sdk.groups.memory_lists import MemoryLists
from mnemic.sdk.routing import routed
from mnemic.types.checks import (
    check_choice,
    check_choices,
    check_flag,
    check_id,
    check_share,
    check_text,
    check_time,
)
from mnemic.types.feedback import NOTE_MAX_CHARACTERS, Feedback, FeedbackKind
from mnemic.types.memory import (
    CATEGORIES,
    CHANGERS,
    RELATIONSHIP_KINDS,
    Category,
    ChangedBy,
    MemoryRecord,
    MemoryRelationship,
    RelationshipKind,
)
from mnemic.types.memory_map import MemoryMap
from mnemic.types.promotion import Promotion
from mnemic.types.scope import check_name
from mnemic.types.tags import check_tags
from mnemic.types.why import Why

REASON_MAX_CHARACTERS = 1024


class AsyncMemories(MemoryLists):
    """Single memories. Every change keeps the earlier version; no call here erases data."""

    @routed("memories.get")
    async def get(self, memory_id: UUID | str, *, owner: str | None = None) -> MemoryRecord:
        """Return one memory, whatever its status; NotFoundError if the owner has none with this id."""
        return await memories.get_memory(
            self._caller.database, self._caller.scoped(owner), check_id("memory_id", memory_id)
        )

    @routed("memories.whole")
    async def whole(self, memory_id: UUID | str, *, owner: str | None = None) -> str:
        """Return the text as it was retained: for a chunk of a long text, the text of all its chunks."""
        return await memories.read_whole(
            self._caller.database, self._caller.scoped(owner), check_id("memory_id", memory_id)
        )

    @routed("memories.update")
    async def update(
        self,
        memory_id: UUID | str,
        *,
        content: str | None = None,
        category: Category | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        confidence: float | None = None,
        anchored: bool | None = None,
        at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        changed_by: ChangedBy = "user",
        reason: str | None = None,
        channel: str | None = None,
        owner: str | None = None,
    ) -> MemoryRecord:
        """Change some fields and return the changed memory; the earlier version is kept.

        In a branch (`channel`), a memory of its parent is hidden there, and the changed one, a new memory, is
        stored in the branch. The same holds for all changes here. To correct a fact, prefer `supersede`: it
        keeps both the old and the new statement as memories.
        """
        changes = check_fields(
            {
                "content": content,
                "category": category,
                "tags": tags,
                "metadata": metadata,
                "confidence": confidence,
                "anchored": anchored,
                "at": at,
                "valid_from": valid_from,
                "valid_to": valid_to,
                "expires_at": expires_at,
            }
        )
        return await self._change(memory_id, memories.edited(changes), changed_by, reason, owner, channel)

    @routed("memories.supersede")
    async def supersede(
        self,
        memory_id: UUID | str,
        content: str,
        *,
        valid_from: datetime | str | None = None,
        reason: str | None = None,
        channel: str | None = None,
        owner: str | None = None,
    ) -> MemoryRecord:
        """Replace a memory by a new one, in one transaction, and return the new one.

        The new memory inherits category, tags and channel. The old one is no longer recalled, but it is kept.
        It stops being valid at `valid_from` (default: now), when the new one starts being valid.
        """
        _check_reason(reason)
        return await supersede(
            self._caller,
            check_id("memory_id", memory_id),
            content,
            valid_from=valid_from,
            reason=reason,
            owner=owner,
            channel=channel,
        )

    @routed("memories.forget")
    async def forget(
        self,
        memory_id: UUID | str,
        *,
        reason: str | None = None,
        channel: str | None = None,
        owner: str | None = None,
    ) -> MemoryRecord:
        """Stop recalling a memory; for a long text, all its chunks.

        Statements that rest on it alone are forgotten, too; values that these had replaced are current again.
        In a branch (`channel`), a memory of its parent is forgotten in the branch only. `restore` undoes it;
        `memory.admin.erase` removes data permanently.
        """
        scope = self._caller.scoped(owner, channel)
        _check_reason(reason)
        seen = await read_in_branch(self._caller.database, scope, check_id("memory_id", memory_id))
        if seen is not None and not seen.is_own:
            return await forget_in_branch(self._caller.database, scope, seen, reason=reason)
        record = await self._change(memory_id, memories.forgotten, "user", reason, owner)
        await follow_forgetting(self._caller.database, scope, record.memory_id)
        return record

    @routed("memories.restore")
    async def restore(
        self,
        memory_id: UUID | str,
        *,
        reason: str | None = None,
        channel: str | None = None,
        owner: str | None = None,
    ) -> MemoryRecord:
        """Make a forgotten, archived or superseded memory active again.

        In a branch (`channel`), a memory of its parent that was hidden there is read again. ConflictError if
        another active memory of the owner has the same text.
        """
        scope = self._caller.scoped(owner, channel)
        seen = await read_in_branch(self._caller.database, scope, check_id("memory_id", memory_id))
        if seen is not None and not seen.is_own:
            return await restore_in_branch(self._caller.database, scope, seen)
        history = await self.history(memory_id, owner=owner)
        record = await self._change(memory_id, memories.restored(history), "user", reason, owner)
        await follow_restoring(self._caller.database, scope, record.memory_id)
        return record

    @routed("memories.history")
    async def history(self, memory_id: UUID | str, *, owner: str | None = None) -> Sequence[MemoryRecord]:
        """Return all versions of a memory, oldest first; the last one is the current version."""
        return await memories.read_history(
            self._caller.database, self._caller.scoped(owner), check_id("memory_id", memory_id)
        )

    @routed("memories.why")
    async def why(self, memory_id: UUID | str, *, owner: str | None = None) -> Why:
        """Return why a memory is believed: the turns that it rests on, with quotations, speakers and times.

        Also what it replaced and what replaced it, with the reasons, what contradicts it, and what Mnemic
        changed on its own behalf. `text` is the same for people. Only memories of the owner are shown.
        """
        return await explain_memory(
            self._caller.database, self._caller.scoped(owner), check_id("memory_id", memory_id)
        )

    @routed("memories.as_of")
    async def as_of(
        self, memory_id: UUID | str, moment: datetime | str, *, owner: str | None = None
    ) -> MemoryRecord | None:
        """Return the memory as it was known at a moment, or None if it was not known then."""
        return await memories.read_as_of(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("memory_id", memory_id),
            check_time("moment", moment),
        )

    @routed("memories.revert")
    async def revert(
        self,
        memory_id: UUID | str,
        version: int,
        *,
        reason: str | None = None,
        channel: str | None = None,
        owner: str | None = None,
    ) -> MemoryRecord:
        """Restore an earlier version as a new version; the versions in between are kept."""
        earlier = await memories.read_version(
            self._caller.database, self._caller.scoped(owner), check_id("memory_id", memory_id), version
        )
        reason = reason or f"reverted to version {version}"
        return await self._change(memory_id, memories.reverted_to(earlier), "user", reason, owner, channel)

    @routed("memories.tag")
    async def tag(
        self, memory_id: UUID | str, *tags: str, channel: str | None = None, owner: str | None = None
    ) -> MemoryRecord:
        """Add tags to a memory."""
        change = memories.retagged(check_tags(tags), ())
        return await self._change(memory_id, change, "user", None, owner, channel)

    @routed("memories.untag")
    async def untag(
        self, memory_id: UUID | str, *tags: str, channel: str | None = None, owner: str | None = None
    ) -> MemoryRecord:
        """Remove tags from a memory."""
        change = memories.retagged((), check_tags(tags))
        return await self._change(memory_id, change, "user", None, owner, channel)

    @routed("memories.relate")
    async def relate(
        self,
        from_id: UUID | str,
        to_id: UUID | str,
        kind: RelationshipKind,
        *,
        confidence: float = 1.0,
        owner: str | None = None,
    ) -> MemoryRelationship:
        """Relate one memory to another; relating them again with the same kind updates the confidence."""
        check_choice("kind", kind, RELATIONSHIP_KINDS)
        return await relationships.relate(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("from_id", from_id),
            check_id("to_id", to_id),
            kind,
            confidence=check_share("confidence", confidence),
        )

    @routed("memories.related")
    async def related(
        self,
        memory_id: UUID | str,
        *,
        kinds: Sequence[RelationshipKind] | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[MemoryRelationship]:
        """Return the relationships from and to a memory, oldest first."""
        return await relationships.list_related(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("memory_id", memory_id),
            kinds=check_choices("kinds", kinds, RELATIONSHIP_KINDS),
            limit=limit,
        )

    @routed("memories.feedback")
    async def feedback(
        self,
        memory_id: UUID | str,
        *,
        useful: bool = True,
        cited: bool = False,
        conversation: str | None = None,
        note: str | None = None,
        owner: str | None = None,
    ) -> MemoryRecord:
        """Say whether a recalled memory was useful, or `cited` in an answer; returns it with its new ranking.

        A useful memory ranks a little higher from now on and fades more slowly, a useless one the opposite.
        A conversation has one verdict on a memory, the last one. Only for memories of the owner itself.
        """
        return await feedback.give_feedback(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("memory_id", memory_id),
            _feedback_kind(useful=useful, cited=cited),
            conversation=check_name("conversation", conversation) if conversation is not None else None,
            note=check_text("note", note, max_characters=NOTE_MAX_CHARACTERS) if note is not None else None,
        )

    @routed("memories.list_feedback")
    async def list_feedback(
        self,
        *,
        memory_id: UUID | str | None = None,
        before: UUID | str | None = None,
        limit: int = 100,
        owner: str | None = None,
    ) -> Sequence[Feedback]:
        """Return feedback on the owner's memories or on one of them, newest first.

        `before` is the id of the last feedback of the previous page.
        """
        return await feedback.list_feedback(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("memory_id", memory_id) if memory_id is not None else None,
            before=check_id("before", before) if before is not None else None,
            limit=limit,
        )

    @routed("memories.promotions")
    async def promotions(
        self, *, before: UUID | str | None = None, limit: int = 100, owner: str | None = None
    ) -> Sequence[Promotion]:
        """Return memories that were promoted to `_global`, newest memories first, with thresholds and values.

        The job `mind.promote` makes them. `before` is the id of the last memory of the previous page.
        """
        return await list_promotions(
            self._caller.database,
            self._caller.scoped(owner),
            before=check_id("before", before) if before is not None else None,
            limit=limit,
        )

    @routed("memories.near_duplicates")
    async def near_duplicates(self, *, limit: int = 100, owner: str | None = None) -> Sequence[NearDuplicate]:
        """Return pairs of near duplicates that await a decision, oldest first."""
        return await relationships.list_near_duplicates(
            self._caller.database, self._caller.scoped(owner), limit=limit
        )

    @routed("memories.decide_near_duplicate")
    async def decide_near_duplicate(
        self, memory_id: UUID | str, like_id: UUID | str, decision: Decision, *, owner: str | None = None
    ) -> None:
        """Mark a pair as `distinct` or `merged`. To merge, also call `supersede` or `forget`."""
        check_choice("decision", decision, ("distinct", "merged"))
        await relationships.decide_near_duplicate(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("memory_id", memory_id),
            check_id("like_id", like_id),
            decision,
        )

    @routed("memories.outdated")
    async def outdated(
        self, *, memory_id: UUID | str | None = None, limit: int = 100, owner: str | None = None
    ) -> Sequence[OutdatedMemory]:
        """Return memories that a newer one outdates, with the reason, newest marks first; or those of one."""
        return await relationships.list_outdated(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("memory_id", memory_id) if memory_id is not None else None,
            limit=limit,
        )

    @routed("memories.decide_outdated")
    async def decide_outdated(
        self,
        memory_id: UUID | str,
        newer_id: UUID | str,
        decision: OutdatedDecision,
        *,
        reason: str | None = None,
        owner: str | None = None,
    ) -> None:
        """Decide whether a newer memory outdates this one: `outdated`, or `current` if a mark is wrong.

        Comparing never changes a decision; deciding again does.
        """
        check_choice("decision", decision, ("outdated", "current"))
        _check_reason(reason)
        await decide_outdated(
            self._caller.database,
            self._caller.scoped(owner),
            check_id("memory_id", memory_id),
            check_id("newer_id", newer_id),
            decision,
            reason,
        )

    @routed("memories.map")
    async def map(
        self,
        *,
        categories: Sequence[Category] | None = None,
        region: int | None = None,
        limit: int = 1000,
        owner: str | None = None,
    ) -> MemoryMap:
        """Return the map of the owner's memories: near each other if they mean similar things.

        The job `memories.map` makes it once a day and when `make_map` asks for it, of at most 4,000 memories:
        the newest, and the most salient of the others. `points` are the most salient of them, or of those
        with these `categories` or in this `region`; memories that were forgotten since are left out.
        """
        return await read_map(
            self._caller.database,
            self._caller.scoped(owner),
            categories=check_choices("categories", categories, CATEGORIES),
            region=region,
            limit=limit,
        )

    @routed("memories.make_map")
    async def make_map(self, *, owner: str | None = None) -> MemoryMap:
        """Ask for a new map of the owner's memories; returns the present one with the state of the job.

        A worker makes it. If such a job is waiting already, this changes nothing.
        """
        return await request_map(self._caller.database, self._caller.scoped(owner))

    async def _change(
        self,
        memory_id: UUID | str,
        change: memories.Replace,
        changed_by: ChangedBy,
        reason: str | None,
        owner: str | None,
        channel: str | None = None,
    ) -> MemoryRecord:
        check_choice("changed_by", changed_by, CHANGERS)
        _check_reason(reason)
        scope, checked_id = self._caller.scoped(owner, channel), check_id("memory_id", memory_id)
        seen = await read_in_branch(self._caller.database, scope, checked_id)
        if seen is not None and not seen.is_own:
            return await replace_in_branch(self._caller, scope, seen, change, reason=reason)
        return await memories.change_memory(
            self._caller.database,
            scope,
            checked_id,
            change,
            changed_by=changed_by,
            reason=reason,
            reembed=reembed(self._caller),
        )


def _check_reason(reason: str | None) -> None:
    if reason is not None:
        check_text("reason", reason, max_characters=REASON_MAX_CHARACTERS)


def _feedback_kind(*, useful: bool, cited: bool) -> FeedbackKind:
    is_useful = check_flag("useful", useful)
    if check_flag("cited", cited):
        if not is_useful:
            raise InvalidInputError("A memory that was cited was useful: give either cited or useful=False.")
        return "cited"
    return "useful" if is_useful else "not_useful"
