"""Positions of new turns in their conversations: reserved before the turns are stored, in one statement.

A turn that proves to be a duplicate needs no position. Unused ones are the last of their conversation and are
released at the end of the transaction, so that positions have no gaps.
"""

from collections.abc import Iterator

from mnemic.db.database import Transaction
from mnemic.retain.items import Draft
from mnemic.retain.write_plan import WritePlan


class Positions:
    """The reserved positions that are still free, by conversation."""

    def __init__(self, free: dict[str, Iterator[int]]) -> None:
        self._free = free

    def take(self, draft: Draft) -> int | None:
        """The next position in the draft's conversation; None if it belongs to none."""
        conversation = draft.item.conversation
        return None if conversation is None else next(self._free[conversation])

    def unused(self) -> dict[str, int]:
        """How many positions of which conversations were not taken; none can be taken afterwards."""
        counts = {conversation: sum(1 for _ in free) for conversation, free in self._free.items()}
        return {conversation: count for conversation, count in counts.items() if count}


async def reserve_positions(transaction: Transaction, plan: WritePlan) -> Positions:
    """Create or extend the conversations of a call and reserve a position for each new turn."""
    if not plan.conversations:
        return Positions({})
    # Lock the conversations in a fixed order to avoid deadlocks.
    ordered = sorted(plan.conversations.items())
    rows = await transaction.rows(
        "retain.reserve_positions",
        {
            "tenant_id": transaction.tenant.id,
            "owner": plan.owner,
            "channel": plan.scope.channel,
            "conversations": [name for name, _ in ordered],
            "turns": [turns.count for _, turns in ordered],
            "first_ats": [turns.first_at for _, turns in ordered],
            "last_ats": [turns.last_at for _, turns in ordered],
        },
    )
    reserved = {}
    for row in rows:
        name, start = row["conversation"], row["first_position"]
        reserved[name] = iter(range(start, start + plan.conversations[name].count))
    return Positions(reserved)


async def release_positions(transaction: Transaction, plan: WritePlan, positions: Positions) -> None:
    """Release the positions that no turn took."""
    unused = positions.unused()
    if unused:
        parameters = {
            "owner": plan.owner,
            "conversations": list(unused),
            "unused": list(unused.values()),
        }
        await transaction.execute("retain.release_positions", parameters)
