"""Which items are known already: by their external id, or because the owner has the very same words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.retain.items import Draft
from mnemic.types.retained import Duplicate, Refused

# About what a model reads at once.
FEW_WORDS_MAX_CHARACTERS = 2_000


@dataclass(frozen=True)
class Recognised:
    """A group of drafts, sorted into what is new and what is not."""

    new: tuple[Draft, ...]
    duplicates: tuple[Duplicate, ...]
    refused: tuple[Refused, ...]

    @property
    def indexes(self) -> set[int]:
        """The items that are not new."""
        return {item.index for item in self.duplicates} | {item.index for item in self.refused}


async def recognise(database: TenantDatabase, owner: str, drafts: Sequence[Draft]) -> Recognised:
    """Look the drafts up, where that pays; all others pass as new.

    Turns without an external id are new by nature. For a few words a transaction of its own costs more than
    it saves: they are most likely new, and soon embedded; if they are known after all, storing them tells.
    """
    if not any(has_identity(draft) for draft in drafts) or _are_few_words(drafts):
        return Recognised(tuple(drafts), (), ())
    async with database.transaction() as transaction:
        return await recognise_in(transaction, owner, drafts)


async def recognise_in(transaction: Transaction, owner: str, drafts: Sequence[Draft]) -> Recognised:
    """The same inside a transaction."""
    if not drafts:
        return Recognised((), (), ())
    known: dict[int, tuple[UUID, Any]] = {}
    for row in await transaction.rows_planned_anew("retain.known", _identities(owner, drafts)):
        known.setdefault(row["index"], (row["memory_id"], row["forgotten_at"]))
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
    return Recognised(new, tuple(duplicates), tuple(refused))


def has_identity(draft: Draft) -> bool:
    """Whether it can be known already; a turn without an external id cannot."""
    return draft.item.external_id is not None or draft.chunks[0].content_hash is not None


def _are_few_words(drafts: Sequence[Draft]) -> bool:
    """Whether to embed without asking. An external id asks for it: a repeated import is to cost nothing."""
    characters = sum(len(draft.item.content) for draft in drafts)
    return characters <= FEW_WORDS_MAX_CHARACTERS and all(draft.item.external_id is None for draft in drafts)


def _identities(owner: str, drafts: Sequence[Draft]) -> dict[str, Any]:
    external = [
        (draft.index, draft.item.external_id) for draft in drafts if draft.item.external_id is not None
    ]
    hashed = [
        (draft.index, content_hash.hex())
        for draft in drafts
        if (content_hash := draft.chunks[0].content_hash) is not None
    ]
    return {
        "owner": owner,
        "external_indexes": [index for index, _ in external],
        "external_ids": [external_id for _, external_id in external],
        "hash_indexes": [index for index, _ in hashed],
        "hashes": " ".join(content_hash for _, content_hash in hashed),
    }
