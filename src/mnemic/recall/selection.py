"""Choosing hits from ranked pools: the best of all sources, a cap per conversation, and their reasons."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from mnemic.db.id_arrays import Key
from mnemic.recall.candidates.pool import NEIGHBOUR_REACH, Pool, Turns
from mnemic.recall.ranking import Ranking, conversation_terms, score
from mnemic.types.recalled import Explanation

CONVERSATION_SHARE = 0.8
"""Of the hits, at most this share come from one conversation, unless there is nothing else."""
CONVERSATION_MIN = 3


@dataclass(frozen=True)
class Choice:
    """A member of a pool that was chosen."""

    pool: Pool
    ranking: Ranking
    place: int
    reranked: float | None = None

    @property
    def key(self) -> Key:
        """Which memory it is."""
        return self.pool.keys[self.place]

    @property
    def fused(self) -> float:
        """Its fused score."""
        return float(self.ranking.fused[self.place])

    @property
    def score(self) -> float:
        """From 0 to 1: by a reranker if there was one, else from the fused score."""
        return score(self.fused) if self.reranked is None else self.reranked

    @property
    def neighbour_places(self) -> tuple[int, ...]:
        """Where in the pool the turns around it are, in their order."""
        turns = Turns(self.pool.conversations, self.pool.positions)
        offsets = (offset for offset in range(-NEIGHBOUR_REACH, NEIGHBOUR_REACH + 1) if offset)
        places = (turns.place(self.place, offset) for offset in offsets)
        return tuple(place for place in places if place is not None)

    @property
    def neighbours(self) -> tuple[Key, ...]:
        """The turns around it that are in the pool, in their order."""
        return tuple(self.pool.keys[place] for place in self.neighbour_places)


def choose(pools: Sequence[Pool], rankings: Sequence[Ranking], limit: int) -> list[Choice]:
    """The best `limit` members of all pools, each memory once, best first."""
    return _diverse(_ranked(pools, rankings), limit)


def _ranked(pools: Sequence[Pool], rankings: Sequence[Ranking]) -> Iterator[Choice]:
    """The members of all pools, best first; one that is in several pools counts where it is best."""
    order = sorted(
        (-fused, key, number, place)
        for number, (pool, ranking) in enumerate(zip(pools, rankings, strict=True))
        for place, (fused, key) in enumerate(zip(ranking.fused.tolist(), pool.keys, strict=True))
    )
    seen: set[Key] = set()
    for _, key, number, place in order:
        if key not in seen:
            seen.add(key)
            yield Choice(pools[number], rankings[number], place)


def _diverse(ranked: Iterable[Choice], limit: int) -> list[Choice]:
    """The first `limit`, where those beyond their conversation's cap stand back behind all others."""
    most = max(CONVERSATION_MIN, round(CONVERSATION_SHARE * limit))
    taken: Counter[tuple[str, str]] = Counter()
    within: list[Choice] = []
    beyond: list[Choice] = []
    for choice in ranked:
        conversation = choice.pool.conversations[choice.place]
        if conversation:
            taken[choice.pool.source.owner, conversation] += 1
        if conversation and taken[choice.pool.source.owner, conversation] > most:
            beyond.append(choice)
        else:
            within.append(choice)
        if len(within) == limit:
            return within
    return sorted([*within, *beyond[: limit - len(within)]], key=lambda choice: -choice.fused)


def reordered(chosen: Sequence[Choice], scores: Sequence[float]) -> list[Choice]:
    """The same choices in the order of a reranker's scores; equal ones keep their order."""
    judged = [replace(choice, reranked=value) for choice, value in zip(chosen, scores, strict=True)]
    return sorted(judged, key=lambda choice: -choice.score)


def explain(choice: Choice, evidence: Sequence[str]) -> Explanation:
    """Why this memory was found and stands where it stands."""
    pool, place = choice.pool, choice.place
    conversation = pool.conversations[place]
    cosine = float(pool.cosines[place])
    scores = choice.ranking.parts_of(place)
    if choice.reranked is not None:
        scores["reranker"] = choice.reranked
    return Explanation(
        found_by=pool.found_by[place],
        scores=scores,
        fused=round(choice.fused, 3),
        cosine=round(cosine, 4) if cosine == cosine else None,
        words=pool.words.of(pool.terms[place]),
        conversation=conversation,
        conversation_words=pool.words.of(conversation_terms(pool).get(conversation, 0))
        if conversation
        else (),
        neighbours=tuple(UUID(bytes=key) for key in choice.neighbours),
        evidence=tuple(evidence),
        grant_id=pool.source.grant_id,
    )
