"""Find items that the owner has already, by external id or by identical content, and reinforce them.

The first lookup runs before embedding, so that duplicates are not embedded again. The unique indexes of the
database find what another call has stored since.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.retain.items import Draft
from mnemic.types.retained import Duplicate, Refused
from mnemic.types.scope import Scope

# About as much as a model embeds in one pass.
SHORT_CALL_MAX_CHARACTERS = 2_000


Known = dict[int, tuple[UUID, datetime | None]]
"""Memories that drafts repeat, by the index of the draft: the memory's id and when it was forgotten."""


@dataclass(frozen=True)
class Deduplicated:
    """Drafts that are new, those that are duplicates, and those refused because forgotten."""

    new: tuple[Draft, ...]
    duplicates: tuple[Duplicate, ...] = ()
    refused: tuple[Refused, ...] = ()

    @property
    def known_indexes(self) -> set[int]:
        """The indexes of the items that are not new."""
        return {item.index for item in self.duplicates} | {item.index for item in self.refused}


async def deduplicate(database: TenantDatabase, scope: Scope, drafts: Sequence[Draft]) -> Deduplicated:
    """Look the drafts up before they are embedded, if that is cheaper than embedding them.

    A short call skips the lookup: most of its items are new, and embedding them takes less time than a
    transaction. Storing them finds the duplicates.
    """
    if not any(map(has_identity, drafts)) or _is_short(drafts):
        return Deduplicated(tuple(drafts))
    async with database.transaction() as transaction:
        return await deduplicate_in(transaction, scope, drafts)


async def deduplicate_in(transaction: Transaction, scope: Scope, drafts: Sequence[Draft]) -> Deduplicated:
    """Look the drafts up in a transaction that is already open."""
    if not drafts:
        return Deduplicated(())
    known: Known = {}
    for row in await transaction.rows_unprepared("retain.known", _identities(scope, drafts)):
        known.setdefault(row["index"], (row["memory_id"], row["forgotten_at"]))
    return split_known(drafts, known)


def split_known(drafts: Sequence[Draft], known: Known) -> Deduplicated:
    """Separate the drafts that are known from those that are new."""
    duplicates, refused = [], []
    for index, (memory_id, forgotten_at) in known.items():
        if forgotten_at is None:
            duplicates.append(Duplicate(index, memory_id))
        else:
            reason = (
                f"It was forgotten on {forgotten_at:%Y-%m-%d %H:%M} UTC; restore {memory_id} to have it back."
            )
            refused.append(Refused(index, reason))
    new = tuple(draft for draft in drafts if draft.index not in known)
    return Deduplicated(new, tuple(duplicates), tuple(refused))


async def reinforce(transaction: Transaction, duplicates: Iterable[Duplicate]) -> None:
    """Count every duplicate as a reinforcement of the memory that it repeats."""
    times = sorted(Counter(duplicate.duplicate_of for duplicate in duplicates).items())
    if times:
        parameters = {"ids": [memory_id for memory_id, _ in times], "times": [count for _, count in times]}
        await transaction.execute("retain.reinforce", parameters)


def has_identity(draft: Draft) -> bool:
    """Whether the draft can be a duplicate: a turn of a conversation only if it has an external id."""
    return draft.item.external_id is not None or draft.chunks[0].content_hash is not None


def _is_short(drafts: Sequence[Draft]) -> bool:
    """Whether to skip the lookup. Items with an external id are always looked up: imports are repeated."""
    characters = sum(len(draft.item.content) for draft in drafts)
    return characters <= SHORT_CALL_MAX_CHARACTERS and all(draft.item.external_id is None for draft in drafts)


def _identities(scope: Scope, drafts: Sequence[Draft]) -> dict[str, Any]:
    external = [
        (draft.index, draft.item.external_id) for draft in drafts if draft.item.external_id is not None
    ]
    hashed = [
        (draft.index, content_hash.hex())
        for draft in drafts
        if (content_hash := draft.chunks[0].content_hash) is not None
    ]
    return {
        "owner": scope.require_owner(),
        "channel": scope.channel,
        "external_indexes": [index for index, _ in external],
        "external_ids": [external_id for _, external_id in external],
        "hash_indexes": [index for index, _ in hashed],
        "hashes": " ".join(content_hash for _, content_hash in hashed),
    }
