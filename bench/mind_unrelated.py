"""Facts that must not outdate each other: hard pairs (`bench/mind_pairs.py`) through the public API.

The pairs are spread over owners, so that each is compared with many others. The older statement of a pair
happened two months before the newer one. A fact counts as superseded if its status says so, or if it is
marked as outdated with a certainty that recall shows; weaker marks only move a rank, and are counted apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from bench.mind_conflicts import compare_all
from bench.mind_pairs import PAIR_COUNT, HardPair, hard_pairs
from mnemic import AsyncMemory

PAIRS_PER_OWNER = 50
PAGE = 1_000
SHOWN_CERTAINTY = 0.5
"""From this certainty on, recall shows a mark."""
FIRST_AT = datetime(2026, 1, 1, tzinfo=UTC)
LATER = timedelta(days=60)


@dataclass
class UnrelatedResult:
    """How many pairs were stored, and what was taken for outdated: the older fact and the newer one."""

    pair_count: int = 0
    superseded: list[tuple[str, str]] = field(default_factory=list)
    weak: list[tuple[str, str]] = field(default_factory=list)
    stored_again_count: int = 0


async def measure_unrelated(memory: AsyncMemory, pair_count: int = PAIR_COUNT) -> UnrelatedResult:
    """Store hard pairs, have them compared, and count what was superseded."""
    result, pairs = UnrelatedResult(), list(hard_pairs(pair_count))
    for start in range(0, len(pairs), PAIRS_PER_OWNER):
        await _measure_owner(memory, f"pairs-{start}", pairs[start : start + PAIRS_PER_OWNER], result)
    return result


async def _measure_owner(
    memory: AsyncMemory, owner: str, pairs: Sequence[HardPair], result: UnrelatedResult
) -> None:
    items = [{"content": pair.older, "at": FIRST_AT} for pair in pairs]
    items += [{"content": pair.newer, "at": FIRST_AT + LATER} for pair in pairs]
    await memory.retain_many(items, owner=owner)
    marks = await compare_all(memory, owner, len(items))
    listed = await memory.memories.list(owner=owner, limit=PAGE)
    contents = {each.memory_id: each.content for each in listed}
    for mark in marks:
        named = (contents.get(mark.memory_id, "?"), contents.get(mark.outdated_by, "?"))
        (result.superseded if mark.certainty >= SHOWN_CERTAINTY else result.weak).append(named)
    lost = {str(item["content"]) for item in items} - set(contents.values())
    result.superseded += [(content, "") for content in sorted(lost)]
    result.pair_count += len(pairs)
    result.stored_again_count += (await memory.retain_many(items, owner=owner)).stored_count
