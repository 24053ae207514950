"""Memories that the curator reads, and the signals by which it classifies them.

Every signal is a number that is stored with the proposal. `recency` halves with every 90 days without use,
`reinforcement` grows with repetitions and uses, `provenance` ranks measured above reasoned above witnessed,
`contradiction` is the certainty that a newer memory outdates it, `similarity` that of its nearest duplicate,
`relevance` says whether it is about the owner or an entity that the owner knows. `worth` is the mean of the
signals that speak for keeping it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.types.memory import MemoryRecord, Provenance

PAGE_ROWS = 500
"""Candidates that are read at once."""
OTHERS_MAX = 5
"""Contradicting and similar memories that are read for each candidate."""
RECENCY_HALF_LIFE_DAYS = 90.0
USES_PER_REPETITION = 5.0
"""Being recalled is no proof of being useful: so many uses weigh as much as one repetition."""
PROVENANCE_RANKS: Mapping[Provenance, int] = {"witnessed": 1, "reasoned": 2, "measured": 3}
PERSONAL_CATEGORIES = frozenset({"preference", "behavioral"})

_SIGNAL_COLUMNS = (
    "age_days",
    "unchanged_days",
    "unused_days",
    "newer_id",
    "certainty",
    "rival_ids",
    "like_ids",
    "similarities",
    "entity_count",
    "decided",
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory and what the database knows about its use, rivals and duplicates.

    `newer_id` outdates it with `certainty`; `rival_ids` contradict it; `like_ids` are its near duplicates.
    `decided` are proposals that must not be made again.
    """

    memory: MemoryRecord
    age_days: float
    unchanged_days: float
    unused_days: float
    newer_id: UUID | None
    certainty: float
    rival_ids: tuple[UUID, ...]
    likes: Mapping[UUID, float]
    entity_count: int
    decided: frozenset[str]

    @classmethod
    def from_row(cls, row: Row) -> "Candidate":
        """The candidate in a row of `curation.candidates`."""
        record = {name: value for name, value in row.items() if name not in _SIGNAL_COLUMNS}
        return cls(
            memory=MemoryRecord.from_row(record),
            age_days=float(row["age_days"]),
            unchanged_days=float(row["unchanged_days"]),
            unused_days=float(row["unused_days"]),
            newer_id=row["newer_id"],
            certainty=float(row["certainty"] or 0.0),
            rival_ids=tuple(row["rival_ids"]),
            likes=dict(zip(row["like_ids"] or (), row["similarities"] or (), strict=True)),
            entity_count=row["entity_count"],
            decided=frozenset(row["decided"]),
        )

    @property
    def other_ids(self) -> tuple[UUID, ...]:
        """The memories that a classification may need."""
        newer = (self.newer_id,) if self.newer_id is not None else ()
        return (*newer, *self.rival_ids, *self.likes)

    def is_decided(self, kind: str, other_id: UUID | None = None) -> bool:
        """Whether this proposal is open, or was rejected or undone and the memory has not changed since."""
        return kind in self.decided or f"{kind} {other_id or ''}" in self.decided

    def signals(self) -> dict[str, float]:
        """The signals, rounded as they are stored."""
        memory = self.memory
        kept_for = {
            "recency": 0.5 ** (max(self.unused_days, 0.0) / RECENCY_HALF_LIFE_DAYS),
            "reinforcement": 1 - 0.5 ** _repetitions(memory),
            "confidence": memory.confidence,
            "provenance": PROVENANCE_RANKS[memory.provenance] / len(PROVENANCE_RANKS),
            "relevance": 1.0 if self.entity_count or memory.category in PERSONAL_CATEGORIES else 0.5,
        }
        signals = {
            **kept_for,
            "worth": sum(kept_for.values()) / len(kept_for),
            "contradiction": self.certainty,
            "similarity": max(self.likes.values(), default=0.0),
            "unused_days": self.unused_days,
        }
        return {name: round(value, 4) for name, value in signals.items()}


async def read_candidates(
    transaction: Transaction, owner: str, after_id: UUID | None
) -> tuple[list[Candidate], dict[UUID, MemoryRecord]]:
    """The next page of candidates, and the other memories that their signals name."""
    parameters: dict[str, Any] = {
        "owner": owner,
        "after_id": after_id,
        "others_most": OTHERS_MAX,
        "limit": PAGE_ROWS,
    }
    page = [Candidate.from_row(row) for row in await transaction.rows("curation.candidates", parameters)]
    other_ids = sorted({other_id for candidate in page for other_id in candidate.other_ids})
    rows = (
        await transaction.rows("changesets.memories", {"owner": owner, "ids": other_ids}) if other_ids else []
    )
    return page, {row["memory_id"]: MemoryRecord.from_row(row) for row in rows}


def _repetitions(memory: MemoryRecord) -> float:
    return memory.reinforcement_count + memory.retrieval_count / USES_PER_REPETITION
