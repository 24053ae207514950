"""Mentions: links between memories and the entities whose names or aliases occur in them.

`link_mentions` looks for known names in new memories, `link_new_names` looks for new names in existing
memories. The former share an advisory lock of the owner, the latter hold it exclusively, so that a memory
and an entity written at the same time are linked.
"""

from collections.abc import Sequence
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.text_analysis.name_matching import (
    NameMatcher,
    is_found_by_text_search,
    lookup_key,
    spelling_variants,
    split_words,
)

# Limit of candidates: names whose first word occurs in the texts of one call.
NAMES_MAX = 20_000
# A new name is linked to at most this many memories, the newest ones.
EXISTING_LINKED_MAX = 1_000
# This many of the newest memories are read to find a new name; the lexical index finds it in older ones.
EXISTING_READ_MAX = 10_000


async def link_mentions(transaction: Transaction, owner: str, texts: Sequence[tuple[UUID, str]]) -> int:
    """Link memories, given as id and text, to the entities of the owner that they mention; returns how many.

    One small query if the owner has no entities. Call it at the end of a transaction: until that ends, it
    blocks new names of the owner.
    """
    if not texts or not (await transaction.one("mentions.lock_shared", {"owner": owner}))["has_names"]:
        return 0
    return await _link(transaction, owner, texts)


async def link_new_names(transaction: Transaction, owner: str, names: Sequence[str]) -> int:
    """Link names that were just added to the newest memories that mention them; returns how many links."""
    await lock_mentions(transaction, owner)
    bounds = {"owner": owner, "scan_max": EXISTING_READ_MAX, "limit": EXISTING_LINKED_MAX}
    found: list[Row] = []
    if worded := [name for name in names if is_found_by_text_search(name)]:
        phrases = sorted(set[str]().union(*map(spelling_variants, worded)))
        found += await transaction.rows("mentions.memories_with_phrases", {**bounds, "phrases": phrases})
    if others := [name for name in names if name not in worded]:
        found += await transaction.rows("mentions.newest_with_texts", {**bounds, "texts": others})
    return await _link(transaction, owner, [(row["memory_id"], row["content"]) for row in found])


async def link_entities(
    transaction: Transaction, owner: str, memory_id: UUID, entity_ids: Sequence[UUID]
) -> None:
    """Link a memory to entities, whether their names occur in it or not."""
    await _write(transaction, owner, [(memory_id, entity_id) for entity_id in entity_ids])


async def lock_mentions(transaction: Transaction, owner: str) -> None:
    """Wait for transactions that link memories of this owner, and make later ones wait."""
    await transaction.one("mentions.lock", {"owner": owner})


async def _link(transaction: Transaction, owner: str, texts: Sequence[tuple[UUID, str]]) -> int:
    worded = [(memory_id, split_words(text)) for memory_id, text in texts]
    vocabulary = {lookup_key(word) for _, words in worded for word in words}
    wanted = {"owner": owner, "words": sorted(vocabulary), "limit": NAMES_MAX}
    rows = await transaction.rows("mentions.known_names", wanted) if vocabulary else []
    names = NameMatcher((row["name"], row["entity_id"]) for row in rows)
    return await _write(
        transaction,
        owner,
        [(memory_id, entity_id) for memory_id, words in worded for entity_id in names.find(words)],
    )


async def _write(transaction: Transaction, owner: str, pairs: Sequence[tuple[UUID, UUID]]) -> int:
    if not pairs:
        return 0
    # Insert in a fixed order to avoid deadlocks.
    ordered = sorted(set(pairs))
    parameters = {
        "owner": owner,
        "memory_ids": [memory_id for memory_id, _ in ordered],
        "entity_ids": [entity_id for _, entity_id in ordered],
    }
    return await transaction.execute("mentions.link", parameters)
