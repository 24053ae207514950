"""Find the entities of an owner that a text names."""

from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.text_analysis.name_matching import NameMatcher, lookup_key, split_words

# Limit of candidates: names whose first word occurs in the text.
NAMES_MAX = 1_000


async def entities_named(transaction: Transaction, owner: str, text: str) -> list[UUID]:
    """The entities whose name or an alias occurs in the text, sorted by id."""
    words = split_words(text)
    if not words:
        return []
    wanted = {"owner": owner, "words": sorted(set(map(lookup_key, words))), "limit": NAMES_MAX}
    rows = await transaction.rows("mentions.known_names", wanted)
    names = NameMatcher((row["name"], row["entity_id"]) for row in rows)
    return sorted(names.find(words))
