"""The transaction of `retain`. It may run again from the start if it lost a race, so it keeps no state."""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.errors import SerializationFailure

from mnemic.db.database import Transaction
from mnemic.db.vectors import (
    ModelChanged,
    VectorTable,
    insert_and_compare,
    insert_vectors,
    mark_for_embedding,
    open_vectors,
)
from mnemic.retain.ahead import in_steps, made_ahead
from mnemic.retain.items import Chunk, Draft
from mnemic.retain.outcomes import Outcomes
from mnemic.retain.recognise import Recognised, has_identity, recognise_in
from mnemic.retain.spool import Batch, Spool
from mnemic.types.retained import Duplicate, Retained, Stored
from mnemic.types.scope import Scope

# Two memories this close in meaning are shown to somebody; they are never merged by themselves.
NEAR_DUPLICATE_COSINE = 0.95
# Looking for them costs time per row, so it is bounded; larger imports leave it to the curator.
NEAR_CHECK_MAX_CHUNKS = 32
NEAR_SCAN_MAX_ROWS = 2_000

LinkMentions = Callable[[Transaction, str, Sequence[tuple[UUID, str]]], Awaitable[object]]


_JSON = json.JSONEncoder(default=str)


class Row(NamedTuple):
    """A row to be: its words, and all its fields as JSON. Its position is known only when it is stored."""

    content: str
    fields: str


@dataclass
class Conversation:
    """Turns that a call adds to one conversation."""

    turn_count: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None

    def add(self, at: datetime | None) -> None:
        """Count one more turn."""
        self.turn_count += 1
        if at is not None:
            self.first_at = min(self.first_at or at, at)
            self.last_at = max(self.last_at or at, at)


@dataclass
class Plan:
    """What the transaction must know before it starts, gathered while the batches are made ready."""

    scope: Scope
    model: str
    item_count: int = 0
    chunk_count: int = 0
    batch_count: int = 0
    dimensions: int | None = None
    conversations: dict[str, Conversation] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """Whose memories these are."""
        return self.scope.require_owner()

    def add(self, batch: Batch) -> None:
        """Take a ready batch into account."""
        self.item_count += len(batch.drafts) + len(batch.duplicates) + len(batch.refused)
        self.batch_count += 1
        if batch.vectors is not None:
            self.dimensions = batch.vectors.shape[1]
        for draft in batch.drafts:
            self.chunk_count += len(draft.chunks)
            if draft.item.conversation is not None:
                self.conversations.setdefault(draft.item.conversation, Conversation()).add(draft.item.at)


async def write(transaction: Transaction, plan: Plan, spool: Spool, link_mentions: LinkMentions) -> Retained:
    """Write every batch and say what became of each item."""
    await _take_turns(transaction, plan)
    # Before anything is locked: the first call of a model makes its table, and waits for all writers.
    table = await _open_vectors(transaction, plan)
    places = await _open_conversations(transaction, plan)
    outcomes = Outcomes()
    batches = _with_rows(spool)
    async with made_ahead(batches) if plan.batch_count > 1 else aclosing(batches) as ready:
        async for batch, rows in ready:
            new, late, has_names = await _store(transaction, plan, batch.drafts, rows, places)
            chunks = [chunk for draft in new for chunk in draft.chunks]
            stored = {chunk.memory_id for chunk in chunks}
            duplicates = (*batch.duplicates, *late.duplicates)
            await _write_vectors(transaction, plan, table, batch, stored)
            await _derive(transaction, plan, new)
            if has_names:
                texts = [(chunk.memory_id, chunk.content) for chunk in chunks]
                await link_mentions(transaction, plan.owner, texts)
            await _reinforce(transaction, duplicates)
            outcomes.add([_stored(draft) for draft in new], duplicates, (*batch.refused, *late.refused))
            outcomes.awaiting_embedding_count += len(stored) if batch.vectors is None or table is None else 0
    await _give_back_places(transaction, plan, places)
    return outcomes.retained()


async def _open_vectors(transaction: Transaction, plan: Plan) -> VectorTable | None:
    """Where the vectors go; None if there are none, or if another model serves by now and has to embed."""
    if plan.dimensions is None:
        return None
    try:
        return await open_vectors(transaction, plan.model, plan.dimensions)
    except ModelChanged:
        return None


async def _take_turns(transaction: Transaction, plan: Plan) -> None:
    """Let calls of several batches follow each other, owner by owner.

    A batch is stored in one order, so that two calls with the same words wait for each other and not in a
    circle. Several batches have no such order: without turns, calls that overlap would go on deadlocking.
    """
    if plan.batch_count > 1:
        await transaction.execute("retain.wait_longer")
        await transaction.one("retain.take_turns", {"owner": plan.owner})
        await transaction.execute("retain.wait_as_usual")


async def _open_conversations(transaction: Transaction, plan: Plan) -> dict[str, Iterator[int]]:
    """Make or extend the conversations; for each, the places of its new turns, in order."""
    if not plan.conversations:
        return {}
    ordered = sorted(plan.conversations.items())
    rows = await transaction.rows(
        "retain.open_conversations",
        {
            "tenant_id": transaction.tenant.id,
            "owner": plan.owner,
            "channel": plan.scope.channel,
            "conversations": [name for name, _ in ordered],
            "turns": [conversation.turn_count for _, conversation in ordered],
            "first_ats": [conversation.first_at for _, conversation in ordered],
            "last_ats": [conversation.last_at for _, conversation in ordered],
        },
    )
    return {
        row["conversation"]: iter(
            range(row["next_place"] - plan.conversations[row["conversation"]].turn_count, row["next_place"])
        )
        for row in rows
    }


async def _give_back_places(transaction: Transaction, plan: Plan, places: dict[str, Iterator[int]]) -> None:
    """Let the conversations count the turns that they have: some turned out to be known."""
    unused = {conversation: sum(1 for _ in free) for conversation, free in places.items()}
    given_back = {conversation: count for conversation, count in unused.items() if count}
    if given_back:
        parameters = {
            "owner": plan.owner,
            "conversations": list(given_back),
            "unused": list(given_back.values()),
        }
        await transaction.execute("retain.give_back_places", parameters)


async def _with_rows(spool: Spool) -> AsyncGenerator[tuple[Batch, dict[int, list[Row]]]]:
    """The batches, and the rows of each of their drafts."""
    for batch in spool:
        yield batch, {draft.index: _rows(draft) async for draft in in_steps(batch.drafts)}


async def _store(
    transaction: Transaction,
    plan: Plan,
    drafts: Sequence[Draft],
    rows: Mapping[int, list[Row]],
    places: dict[str, Iterator[int]],
) -> tuple[list[Draft], Recognised, bool]:
    """Store what is still new, each draft with all its chunks.

    Returns those drafts, what turned out to be known, and whether the owner has names to be mentioned.
    """
    known = await recognise_in(
        transaction, plan.owner, [draft for draft in drafts if _may_be_a_known_turn(draft)]
    )
    known_indexes = known.indexes
    unknown = [draft for draft in drafts if draft.index not in known_indexes]
    first = _first_of_equals(unknown)
    position = {draft.index: _position(draft, places) for draft in first}
    stored, has_names = await _insert(
        transaction, plan, [(rows[draft.index][0], position[draft.index]) for draft in first]
    )
    new = [draft for draft in first if draft.chunks[0].memory_id in stored]
    await _insert(
        transaction, plan, [(row, position[draft.index]) for draft in new for row in rows[draft.index][1:]]
    )
    beaten = [draft for draft in unknown if draft.chunks[0].memory_id not in stored]
    late = await recognise_in(transaction, plan.owner, beaten)
    if late.new:
        # What an item was a duplicate of has just been forgotten. `TenantDatabase.run` begins again.
        raise SerializationFailure("an item is neither new nor known")
    late = Recognised((), known.duplicates + late.duplicates, known.refused + late.refused)
    return new, late, has_names


def _may_be_a_known_turn(draft: Draft) -> bool:
    """Whether to look again before it gets a place: a place given to a known turn would leave a gap."""
    return draft.item.conversation is not None and has_identity(draft)


def _first_of_equals(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts without those that have the external id or the words of one before them."""
    seen: set[str | bytes | None] = set()
    first = []
    for draft in drafts:
        identity = {draft.item.external_id, draft.chunks[0].content_hash} - {None}
        if seen.isdisjoint(identity):
            first.append(draft)
            seen |= identity
    return first


def _position(draft: Draft, places: dict[str, Iterator[int]]) -> int | None:
    """The next place in its conversation, if it has one."""
    return None if draft.item.conversation is None else next(places[draft.item.conversation])


async def _insert(
    transaction: Transaction, plan: Plan, rows: list[tuple[Row, int | None]]
) -> tuple[set[UUID], bool]:
    """Insert rows at their positions.

    Returns the ids that are stored now, and whether the owner has names to be mentioned.
    """
    if not rows:
        return set(), False
    # Two calls that store the same words wait for each other in one order, not in a circle.
    rows.sort(key=lambda placed: placed[0].content)
    parameters = {
        "tenant_id": transaction.tenant.id,
        "owner": plan.owner,
        "channel": plan.scope.channel,
        "process": plan.scope.process,
        "changed_by": "user",
        "rows": f"[{','.join(row.fields for row, _ in rows)}]",
        "positions": [position for _, position in rows],
    }
    found = await transaction.one("retain.insert_memories", parameters)
    return set(found["memory_ids"]), found["has_names"]


def _rows(draft: Draft) -> list[Row]:
    """The rows of a draft. What is None or empty is left out, as most fields of most items are."""
    shared = {name: value for name, value in vars(draft.item).items() if value or value in (False, 0.0)}
    if draft.whole_hash is not None:
        shared |= {
            "whole_id": draft.chunks[0].memory_id,
            "whole_hash": draft.whole_hash.hex(),
            "chunk_count": len(draft.chunks),
        }
    return [Row(chunk.content, _JSON.encode(shared | _own_fields(chunk))) for chunk in draft.chunks]


def _own_fields(chunk: Chunk) -> dict[str, Any]:
    """What a chunk does not share with the others of its draft."""
    own = {"memory_id": chunk.memory_id, "content": chunk.content}
    return own if chunk.index is None else {**own, "chunk_index": chunk.index}


async def _write_vectors(
    transaction: Transaction, plan: Plan, table: VectorTable | None, batch: Batch, stored: set[UUID]
) -> None:
    """Store the vectors of what was stored, or mark it for embedding; link what looks alike."""
    if not stored:
        return
    if batch.vectors is None or table is None:
        error = batch.embedding_error or f"{plan.model} was replaced by another model meanwhile."
        await mark_for_embedding(transaction, list(stored), error)
        return
    chunks = [chunk for draft in batch.drafts for chunk in draft.chunks]
    keep = [place for place, chunk in enumerate(chunks) if chunk.memory_id in stored]
    ids, vectors = [chunks[place].memory_id for place in keep], batch.vectors[keep]
    if plan.chunk_count > NEAR_CHECK_MAX_CHUNKS:
        await insert_vectors(transaction, table, ids, [plan.owner] * len(ids), vectors)
        return
    pairs = await insert_and_compare(
        transaction,
        table,
        plan.owner,
        ids,
        vectors,
        threshold=NEAR_DUPLICATE_COSINE,
        scan_limit=NEAR_SCAN_MAX_ROWS,
    )
    await _link_near_duplicates(transaction, pairs)


async def _link_near_duplicates(transaction: Transaction, pairs: Sequence[Mapping[str, Any]]) -> None:
    if pairs:
        parameters = {
            "tenant_id": transaction.tenant.id,
            # The newer one is like the older one; two of this call that find each other are one pair.
            "ids": [max(pair["memory_id"], pair["like_id"]) for pair in pairs],
            "like_ids": [min(pair["memory_id"], pair["like_id"]) for pair in pairs],
            "similarities": [min(1.0, pair["similarity"]) for pair in pairs],
        }
        await transaction.execute("vectors.link_near_duplicates", parameters)


async def _derive(transaction: Transaction, plan: Plan, new: Sequence[Draft]) -> None:
    """Link memories to those of the owner's memories that their evidence names."""
    pairs = [
        (chunk.memory_id, source_id)
        for draft in new
        for source_id in map(_as_id, draft.item.evidence)
        if source_id is not None
        for chunk in draft.chunks
    ]
    if not pairs:
        return
    wanted = {"ids": sorted({source_id for _, source_id in pairs}), "owner": plan.owner}
    known = {row["memory_id"] for row in await transaction.rows("retain.existing_evidence", wanted)}
    links = [(memory_id, source_id) for memory_id, source_id in pairs if source_id in known]
    parameters = {
        "tenant_id": transaction.tenant.id,
        "process": plan.scope.process,
        "from_ids": [memory_id for memory_id, _ in links],
        "to_ids": [source_id for _, source_id in links],
    }
    await transaction.execute("retain.derive", parameters)


def _as_id(reference: str) -> UUID | None:
    try:
        return UUID(reference)
    except ValueError:
        return None


async def _reinforce(transaction: Transaction, duplicates: Sequence[Duplicate]) -> None:
    if duplicates:
        times = sorted(Counter(duplicate.duplicate_of for duplicate in duplicates).items())
        parameters = {"ids": [memory_id for memory_id, _ in times], "times": [count for _, count in times]}
        await transaction.execute("retain.reinforce", parameters)


def _stored(draft: Draft) -> Stored:
    chunk_ids = tuple(chunk.memory_id for chunk in draft.chunks)
    return Stored(draft.index, chunk_ids[0], chunk_ids)
