"""Selection: the best candidates of all pools, with a cap for each conversation."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mnemic.db.id_arrays import Key
from mnemic.recall.candidates.neighbours import NEIGHBOUR_REACH, ConversationTurns
from mnemic.recall.candidates.pool import CandidatePool
from mnemic.recall.ranking import Ranking, score

CONVERSATION_SHARE = 0.8
"""At most this share of the hits comes from one conversation, unless there are no others."""
CONVERSATION_MIN = 3


@dataclass(frozen=True)
class RankedCandidate:
    """A candidate: its pool, its index in the pool, and its scores."""

    pool: CandidatePool
    ranking: Ranking
    index: int
    reranked: float | None = None

    @property
    def key(self) -> Key:
        """The memory's id."""
        return self.pool.keys[self.index]

    @property
    def fused(self) -> float:
        """The fused score."""
        return float(self.ranking.fused[self.index])

    @property
    def score(self) -> float:
        """From 0 to 1: the reranker's score if there is one, else from the fused score."""
        return score(self.fused) if self.reranked is None else self.reranked

    @property
    def neighbour_indexes(self) -> tuple[int, ...]:
        """The indexes of the neighbouring turns in the pool, in the order of the conversation."""
        turns = ConversationTurns(self.pool.conversations, self.pool.positions)
        offsets = (offset for offset in range(-NEIGHBOUR_REACH, NEIGHBOUR_REACH + 1) if offset)
        indexes = (turns.neighbour(self.index, offset) for offset in offsets)
        return tuple(index for index in indexes if index is not None)

    @property
    def neighbours(self) -> tuple[Key, ...]:
        """The ids of the neighbouring turns in the pool, in the order of the conversation."""
        return tuple(self.pool.keys[index] for index in self.neighbour_indexes)


def select_candidates(
    pools: Sequence[CandidatePool], rankings: Sequence[Ranking], limit: int
) -> list[RankedCandidate]:
    """The best `limit` (at least 1) candidates of all pools, each memory once, best first."""
    return _capped_by_conversation(_best_first(pools, rankings), limit)


def _best_first(pools: Sequence[CandidatePool], rankings: Sequence[Ranking]) -> Iterator[RankedCandidate]:
    """The candidates of all pools, best first; a memory in several pools appears where it scores best."""
    order = sorted(
        (-fused, key, number, index)
        for number, (pool, ranking) in enumerate(zip(pools, rankings, strict=True))
        for index, (fused, key) in enumerate(zip(ranking.fused.tolist(), pool.keys, strict=True))
    )
    yielded: set[Key] = set()
    for _, key, number, index in order:
        if key not in yielded:
            yielded.add(key)
            yield RankedCandidate(pools[number], rankings[number], index)


def _capped_by_conversation(ranked: Iterable[RankedCandidate], limit: int) -> list[RankedCandidate]:
    """The first `limit`. Candidates beyond the cap of their conversation only fill places left free."""
    cap = max(CONVERSATION_MIN, round(CONVERSATION_SHARE * limit))
    counts: Counter[tuple[str, str]] = Counter()
    within: list[RankedCandidate] = []
    beyond: list[RankedCandidate] = []
    for candidate in ranked:
        conversation = candidate.pool.conversations[candidate.index]
        owner = candidate.pool.readable.owner
        if conversation:
            counts[owner, conversation] += 1
        if conversation and counts[owner, conversation] > cap:
            beyond.append(candidate)
        else:
            within.append(candidate)
        if len(within) == limit:
            return within
    return sorted([*within, *beyond[: limit - len(within)]], key=lambda candidate: -candidate.fused)
