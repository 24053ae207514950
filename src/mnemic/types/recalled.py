"""What `recall` gives back: hits with their reasons, or a refusal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args
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


Pack = Callable[[Sequence[Hit]], tuple[str, int]]
"""Gives the text of hits, and its tokens."""


class _PackedOnFirstRead:
    """Has `text` and `token_count` made when one of them is first read: many callers want the hits alone.

    Until then both are slots that were not filled. Whatever reads the fields fills them: a comparison, a
    `replace`, a copy, an answer over HTTP. Two threads that read at once both fill in the same.
    """

    __slots__ = ("_pack",)
    _pack: Pack

    if not TYPE_CHECKING:  # A type checker would take any name for an attribute.

        def __getattr__(self, name: str) -> Any:
            if name not in ("text", "token_count"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            text, token_count = self._pack(self.hits)
            object.__setattr__(self, "text", text)
            object.__setattr__(self, "token_count", token_count)
            return text if name == "text" else token_count


@dataclass(frozen=True, slots=True)
class Recalled(_PackedOnFirstRead):
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


def packed_on_first_read(answer: Recalled, pack: Pack) -> Recalled:
    """The same answer, whose `text` and `token_count` are made by `pack` when one of them is first read."""
    later = replace(answer)
    object.__setattr__(later, "_pack", pack)
    object.__delattr__(later, "text")
    object.__delattr__(later, "token_count")
    return later
