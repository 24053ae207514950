"""The result of `recall`: hits with explanations, which may be marked as weak, or a refusal."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, get_args
from uuid import UUID

from mnemic.types.goal import Goal
from mnemic.types.memory import MemoryRecord
from mnemic.types.profile import Profile
from mnemic.types.strategy import Strategy
from mnemic.types.working import WorkingMemory

Technique = Literal["vector", "text", "graph", "time", "neighbours", "expansion", "hyde", "self_query"]
TECHNIQUES: tuple[Technique, ...] = get_args(Technique)

Include = Literal["neighbours", "entities", "goals", "strategies", "profile", "working"]
INCLUDES: tuple[Include, ...] = get_args(Include)

Outcome = Literal["found", "weak", "refused"]
"""`found`: the hits probably answer the query; `weak`: there are hits, but they may not answer it; `refused`:
nothing is close enough, so there are no hits."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory was found, and why it has its rank.

    `scores` are the parts that add up to the fused score, evidence and boosts alike, by name; `cosine` is
    the cosine similarity of the memory and the query, `words` are the words of the query that it contains,
    and `conversation_words` those that its conversation contains. `grant_id` is the grant that allows it.
    `corrections` are the typing errors of the query that were corrected by its owner's words, such as
    ``supervsior → supervisor``.
    `outdated_reason` says why the memory that `memory.outdated_by` names outdates it.
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
    corrections: tuple[str, ...] = ()
    outdated_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A recalled memory.

    `score`, from 0 to 1, orders the hits of one call: how well this memory matches the query. It is no
    probability, and scores of different calls do not compare.

    `outdated_since` is the time of the newer memory that outdates it (`memory.outdated_by`), if that is more
    likely than not.
    """

    memory: MemoryRecord
    score: float
    explain: Explanation | None = None
    neighbours: tuple[MemoryRecord, ...] = ()
    entities: tuple[str, ...] = ()
    outdated_since: datetime | None = None


Pack = Callable[[Sequence[Hit]], tuple[str, int]]
"""Returns the text of hits, and its number of tokens."""


_PACKED = ("text", "token_count")


class _PackedOnFirstRead:
    """Computes `text` and `token_count` when one of them is first read: many callers need only the hits.

    Until then both are unset slots. Every read sets them: a comparison, a `replace`, a copy, a response over
    HTTP. Two threads that read concurrently compute the same values.
    """

    __slots__ = ("_pack",)
    _pack: Pack

    if not TYPE_CHECKING:  # With it, a type checker would accept any attribute name.

        def __getattr__(self, name: str) -> Any:
            if name not in _PACKED:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            text, token_count = self._pack(self.hits)
            object.__setattr__(self, "text", text)
            object.__setattr__(self, "token_count", token_count)
            return text if name == "text" else token_count


@dataclass(frozen=True, slots=True)
class Recalled(_PackedOnFirstRead):
    """The result of a recall: hits, best first, or a refusal with its reason and no hits.

    `outcome` is "found"; "weak" if there are hits that may not answer the query, which `text` says in its
    first line; or "refused", and then `refused` is true. `confidence` is the probability, from 0 to 1, that
    the answer to the query is among the hits; it decides the outcome: below `threshold` recall refuses. With
    `explain`, `confidence_parts` are the parts of the sum whose logistic function it is; they are empty if a
    rule decided instead. `text` is the hits packed for a prompt.
    `timings` are milliseconds per stage, `counts` the candidates of each technique, `notes` what was skipped
    or failed.

    `goals`, `strategies`, `profile` and `working` are what `include` asked for, and None otherwise; then
    `text` has them before the hits. A refusal has them, too.
    """

    query: str
    hits: tuple[Hit, ...] = ()
    outcome: Outcome = "found"
    refused: bool = False
    reason: str | None = None
    confidence: float = 0.0
    text: str = ""
    token_count: int = 0
    timings: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    goals: tuple[Goal, ...] | None = None
    working: WorkingMemory | None = None
    profile: Profile | None = None
    strategies: tuple[Strategy, ...] | None = None
    threshold: float = 0.0
    confidence_parts: Mapping[str, float] | None = None

    def __iter__(self) -> Iterator[Hit]:
        """The hits, best first."""
        return iter(self.hits)

    def __len__(self) -> int:
        """How many hits there are."""
        return len(self.hits)

    def __getitem__(self, index: int) -> Hit:
        """The hit at an index; 0 is the best."""
        return self.hits[index]

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return bool(self.hits)


def packed_on_first_read(recalled: Recalled, pack: Pack) -> Recalled:
    """The same result, with `text` and `token_count` computed by `pack` when one of them is first read."""
    unpacked = replace(recalled)
    object.__setattr__(unpacked, "_pack", pack)
    object.__delattr__(unpacked, "text")
    object.__delattr__(unpacked, "token_count")
    return unpacked


def without_text(recalled: Recalled, **changes: Any) -> Recalled:
    """The same result with other fields and without a text, which is not packed for that."""
    kept = {each.name: getattr(recalled, each.name) for each in fields(Recalled) if each.name not in _PACKED}
    return Recalled(**kept | changes)
