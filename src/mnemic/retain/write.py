"""The transaction of `retain`. It may run again from the start if it lost a race, so it keeps no state."""

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from uuid import UUID

from psycopg.errors import SerializationFailure

from mnemic.db.database import Transaction
from mnemic.db.vectors import ModelChanged, mark_for_embedding, open_vectors
from mnemic.retain.ahead import in_steps, made_ahead
from mnemic.retain.items import Draft
from mnemic.retain.outcomes import Outcomes, stored_as
from mnemic.retain.plan import Plan
from mnemic.retain.recognise import Recognised, has_identity, recognise_in
from mnemic.retain.rows import Rows, rows_of, storing, vectors_of
from mnemic.retain.spool import Batch
from mnemic.types.retained import Duplicate, Retained

LinkMentions = Callable[[Transaction, str, Sequence[tuple[UUID, str]]], Awaitable[object]]


async def write(
    transaction: Transaction, plan: Plan, ready: Iterable[Batch], link_mentions: LinkMentions
) -> Retained:
    """Write every batch and say what became of each item."""
    await _take_turns(transaction, plan)
    # Before anything is locked: the first call of a model makes its table, and waits for all writers.
    has_table = await _open_vectors(transaction, plan)
    places = await _open_conversations(transaction, plan)
    outcomes = Outcomes()
    with_rows = _with_rows(ready)
    async with made_ahead(with_rows) if plan.batch_count > 1 else aclosing(with_rows) as batches:
        async for batch, rows in batches:
            embedded = has_table and batch.vectors is not None
            new, late, has_names = await _store(transaction, plan, batch, rows, places, embedded=embedded)
            chunks = [chunk for draft in new for chunk in draft.chunks]
            duplicates = (*batch.duplicates, *late.duplicates)
            if chunks and not embedded:
                error = batch.embedding_error or f"{plan.model} was replaced by another model meanwhile."
                await mark_for_embedding(transaction, [chunk.memory_id for chunk in chunks], error)
                outcomes.awaiting_embedding_count += len(chunks)
            await _derive(transaction, plan, new)
            if has_names:
                texts = [(chunk.memory_id, chunk.content) for chunk in chunks]
                await link_mentions(transaction, plan.owner, texts)
            await _reinforce(transaction, duplicates)
            outcomes.add([stored_as(draft) for draft in new], duplicates, (*batch.refused, *late.refused))
    await _give_back_places(transaction, plan, places)
    return outcomes.retained()


async def _open_vectors(transaction: Transaction, plan: Plan) -> bool:
    """Whether there are vectors to store, and none of another model than the one that serves by now."""
    if plan.dimensions is None:
        return False
    try:
        await open_vectors(transaction, plan.model, plan.dimensions)
    except ModelChanged:
        return False
    return True


async def _take_turns(transaction: Transaction, plan: Plan) -> None:
    """Let calls of several batches follow each other, owner by owner.

    A batch is stored in one order, so that two calls with the same words wait for each other and not in a
    circle. Several batches have no such order: without turns, calls that overlap would go on deadlocking.
    """
    if plan.batch_count > 1:
        await transaction.execute("retain.wait_longer")
        await transaction.one("retain.lock_owner", {"owner": plan.owner})
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


async def _with_rows(batches: Iterable[Batch]) -> AsyncGenerator[tuple[Batch, Rows]]:
    """The batches, and the rows of each of their drafts."""
    for batch in batches:
        yield batch, {draft.index: rows_of(draft) async for draft in in_steps(batch.drafts)}


async def _store(
    transaction: Transaction,
    plan: Plan,
    batch: Batch,
    rows: Rows,
    places: dict[str, Iterator[int]],
    *,
    embedded: bool,
) -> tuple[list[Draft], Recognised, bool]:
    """Store what is still new, each draft with all its chunks, and with their vectors if it is `embedded`.

    Returns those drafts, what turned out to be known, and whether the owner has names to be mentioned.
    """
    known = await recognise_in(
        transaction, plan.owner, [draft for draft in batch.drafts if _may_be_a_known_turn(draft)]
    )
    known_indexes = known.indexes
    unknown = [draft for draft in batch.drafts if draft.index not in known_indexes]
    first = _first_of_equals(unknown)
    stored, has_names = set[UUID](), False
    if first:
        positions = {draft.index: _position(draft, places) for draft in first}
        parameters = storing(transaction.tenant.id, plan, first, rows, positions)
        vectors = vectors_of(batch, first) if embedded else {}
        row = await transaction.one("retain.store", {**parameters, **vectors})
        assert row["memory_ids"] is not None, "the model serves until the transaction ends"
        stored, has_names = set(row["memory_ids"]), row["has_names"]
    new = [draft for draft in first if draft.chunks[0].memory_id in stored]
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
