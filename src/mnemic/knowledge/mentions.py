"""Mentions: links between memories and the entities whose names or aliases occur in them.

They are made from two sides. `link_mentions` looks for known names in new memories; `link_existing` looks
for new names in the memories there are. The two take turns per owner (`mnemic.mentions_lock_key`), so that a
memory and an entity that are written at the same moment are linked all the same.
"""

from collections.abc import Sequence
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.text_analysis.name_matching import Names, is_found_by_words, lookup_key, spellings, words_of

# Names that share their first words with the texts of one call.
NAMES_MAX = 20_000
# Memories that a new name is linked to, the newest ones.
EXISTING_LINKED_MAX = 1_000
# Memories that are read in search of a new name, the newest ones; older ones are found by their index.
EXISTING_READ_MAX = 10_000


async def link_mentions(transaction: Transaction, owner: str, texts: Sequence[tuple[UUID, str]]) -> int:
    """Link memories, given as id and text, to the owner's entities that they mention; returns how many links.

    Costs one small query when the owner has no entities. Belongs at the end of a transaction: new
    names wait for it, though not for long.
    """
    if not texts or not (await transaction.one("mentions.share", {"owner": owner}))["has_names"]:
        return 0
    return await _link(transaction, owner, texts)


async def link_existing(transaction: Transaction, owner: str, names: Sequence[str]) -> int:
    """Link the newest memories that mention names which have just been added; returns how many links."""
    await hold_mentions(transaction, owner)
    bounds = {"owner": owner, "scan_max": EXISTING_READ_MAX, "limit": EXISTING_LINKED_MAX}
    found: list[Row] = []
    if worded := [name for name in names if is_found_by_words(name)]:
        phrases = sorted(set[str]().union(*map(spellings, worded)))
        found += await transaction.rows("mentions.memories_with_phrases", {**bounds, "phrases": phrases})
    if others := [name for name in names if name not in worded]:
        found += await transaction.rows("mentions.newest_with_texts", {**bounds, "texts": others})
    return await _link(transaction, owner, [(row["memory_id"], row["content"]) for row in found])


async def link_memory(
    transaction: Transaction, owner: str, memory_id: UUID, entity_ids: Sequence[UUID]
) -> None:
    """Link a memory to entities that it is about, whatever its words."""
    await _write(transaction, owner, [(memory_id, entity_id) for entity_id in entity_ids])


async def hold_mentions(transaction: Transaction, owner: str) -> None:
    """Take turns with whoever links memories of this owner."""
    await transaction.one("mentions.hold", {"owner": owner})


async def _link(transaction: Transaction, owner: str, texts: Sequence[tuple[UUID, str]]) -> int:
    worded = [(memory_id, words_of(text)) for memory_id, text in texts]
    vocabulary = {lookup_key(word) for _, words in worded for word in words}
    wanted = {"owner": owner, "words": sorted(vocabulary), "limit": NAMES_MAX}
    rows = await transaction.rows("mentions.known_names", wanted) if vocabulary else []
    names = Names((row["name"], row["entity_id"]) for row in rows)
    return await _write(
        transaction,
        owner,
        [(memory_id, entity_id) for memory_id, words in worded for entity_id in names.bearers_in(words)],
    )


async def _write(transaction: Transaction, owner: str, pairs: Sequence[tuple[UUID, UUID]]) -> int:
    if not pairs:
        return 0
    # In one order, so that two calls that write the same links wait for each other, not in a circle.
    ordered = sorted(set(pairs))
    parameters = {
        "owner": owner,
        "memory_ids": [memory_id for memory_id, _ in ordered],
        "entity_ids": [entity_id for _, entity_id in ordered],
    }
    return await transaction.execute("mentions.link", parameters)
