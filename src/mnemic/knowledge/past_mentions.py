"""Which memories mentioned an entity at an earlier time, in the version of that time.

Links are those of the current texts (`mentions`). A memory whose text was another one then is read again: an
earlier version mentions the entity if one of its names occurs in it.
"""

from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.text_analysis.name_matching import (
    NameMatcher,
    is_found_by_text_search,
    spelling_variants,
    split_words,
)
from mnemic.types.memory import MemoryRecord

VERSIONS_READ_MAX = 1_000
"""Earlier versions with another text that are read for one page, those of the newest memories."""


async def mentioning_as_of(transaction: Transaction, wanted: dict[str, object]) -> list[MemoryRecord]:
    """A page of the memories that mentioned an entity at `as_of`; [] if it did not exist yet."""
    names = [row["name"] for row in await transaction.rows("past_mentions.names", wanted)]
    if not names:
        return []
    versions = await _versions_with(transaction, names, wanted)
    given = {
        "memory_ids": [memory_id for memory_id, _ in versions],
        "versions": [version for _, version in versions],
    }
    rows = await transaction.rows("past_mentions.records", {**wanted, **given})
    return [MemoryRecord.from_row(row) for row in rows]


async def _versions_with(
    transaction: Transaction, names: list[str], wanted: dict[str, object]
) -> list[tuple[UUID, int]]:
    """Versions that had another text than now, in which one of the names occurs."""
    bounds = {**wanted, "scan_max": VERSIONS_READ_MAX}
    found: list[Row] = []
    if worded := [name for name in names if is_found_by_text_search(name)]:
        phrases = sorted(set[str]().union(*map(spelling_variants, worded)))
        found += await transaction.rows("past_mentions.versions_with_phrases", {**bounds, "phrases": phrases})
    if others := [name for name in names if name not in worded]:
        found += await transaction.rows("past_mentions.versions_with_texts", {**bounds, "texts": others})
    matcher = NameMatcher((name, name) for name in names)
    return [(row["memory_id"], row["version"]) for row in found if matcher.find(split_words(row["content"]))]
