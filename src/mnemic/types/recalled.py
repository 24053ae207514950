"""What `recall` gives back: hits with their reasons, or a refusal."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args
from uuid import UUID

from mnemic.types.memory import MemoryRecord

Technique = Literal["vector", "text", "graph", "time", "neighbours", "expansion", "hyde", "self_query"]
TECHNIQUES: tuple[Technique, ...] = get_args(Technique)

Include = Literal["neighbours", "entities"]
INCLUDES: tuple[Include, ...] = get_args(Include)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory was found and stands where it stands.

    `scores` are the parts that add up to the fused score, evidence and boosts alike, by name; `cosine` is
    how near the memory is to the query in meaning, `words` are the words of the query that it has, and
    `conversation_words` those that its conversation has. `grant_id` is the grant that let it in.
    """

    found_by: tuple[str, ...]
    scores: Mapping[str, float]
    fused: float
    cosine: float | None
    words: tuple[str, ...]
    conversation: str | None
    conversation_words: tuple[str, ...]
    neighbours: tuple[UUID, ...]
    evidence: tuple[str, ...]
    grant_id: UUID | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory. `score` lies between 0 and 1; among the hits of one call, higher is better."""

    memory: MemoryRecord
    score: float
    explain: Explanation | None = None
    neighbours: tuple[MemoryRecord, ...] = ()
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer to a recall: hits, best first, or a refusal with its reason and no hits.

    `confidence` says how sure Mnemic is that it knows anything about the query, from 0 to 1; below the
    threshold it refuses. `text` is the hits packed for a prompt. `timings` are milliseconds per stage,
    `counts` how many candidates each technique brought, `notes` what did not go as usual.
    """

    query: str
    hits: tuple[Hit, ...] = ()
    refused: bool = False
    reason: str | None = None
    confidence: float = 0.0
    text: str = ""
    token_count: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Hit]:
        """The hits, best first."""
        return iter(self.hits)

    def __len__(self) -> int:
        """How many hits there are."""
        return len(self.hits)

    def __getitem__(self, place: int) -> Hit:
        """The hit at a place; 0 is the best."""
        return self.hits[place]

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return bool(self.hits)
