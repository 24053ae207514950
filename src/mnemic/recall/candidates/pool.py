"""The candidate pool: all candidates of one owner, column by column, with everything that ranking needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mnemic.db.connection import Row
from mnemic.db.id_arrays import Key
from mnemic.recall.candidates.columns import NUMBERS
from mnemic.recall.candidates.cosines import (
    Floats,
    aligned_cosines,
    semantic_cosines,
    smoothed_statistics,
)
from mnemic.recall.candidates.lexical import LexicalMatches
from mnemic.recall.candidates.outdated import (
    OutdatedCandidates,
    outdated_candidates,
    same_frame_candidates,
)
from mnemic.recall.candidates.owner_lookup import OwnerLookup
from mnemic.recall.candidates.semantic import SemanticMatches
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.request import Request


@dataclass(frozen=True)
class CandidatePool:
    """Candidates of one owner; each column has one value per candidate.

    `terms` are bit fields: bit n stands for term n of the query. `cosines` is NaN for a memory without a
    vector. `hops` is the number of relations to an entity of the query, infinite without one. `origins` has
    the database row and the index in its arrays that each candidate came from. `outdated` says which
    candidates are outdated by which. `bridges` is set for a join.
    """

    readable: ReadableOwner
    lexical: LexicalMatches
    keys: Sequence[Key]
    origins: Sequence[tuple[Row, int]]
    conversations: tuple[str | None, ...]
    positions: tuple[int | None, ...]
    roles: tuple[str | None, ...]
    names: tuple[str | None, ...]
    channels: tuple[str, ...]
    bytes: Floats
    happened_at_s: Floats
    confidences: Floats
    usefulnesses: Floats
    saliences: Floats
    anchored: Floats
    tenses: Floats
    terms: tuple[int, ...]
    found_by: tuple[tuple[str, ...], ...]
    hops: Floats
    cosines: Floats
    cosine_mean: float
    cosine_deviation: float
    counts: Mapping[str, int]
    lacks_word_statistics: bool = False
    lacks_vector_index: bool = False
    outdated: OutdatedCandidates = field(default_factory=dict)
    bridges: Floats | None = None

    @property
    def texts(self) -> list[str]:
        """The text of each candidate; empty for a long one, which the searches do not return."""
        return [row["content"][place] or "" for row, place in self.origins]

    @cached_property
    def term_weights(self) -> Floats:
        """The summed weight of the query's terms that each candidate has."""
        return self.lexical.weights_of(self.terms)

    @cached_property
    def lacks_cosine(self) -> npt.NDArray[np.bool_]:
        """Whether each candidate has no vector."""
        return np.isnan(self.cosines)

    @cached_property
    def in_conversation(self) -> npt.NDArray[np.bool_]:
        """Whether each candidate is a turn of a conversation."""
        return np.array([conversation is not None for conversation in self.conversations], bool)

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self.keys)

    def taking(self, indexes: Sequence[int]) -> "CandidatePool":
        """A pool of these candidates only; statistics stay those of the owner."""
        taken: dict[str, Any] = {
            name: tuple(getattr(self, name)[index] for index in indexes)
            for name in ("keys", "origins", "found_by", *_LISTS)
        }
        taken |= {name: getattr(self, name)[list(indexes)] for name in ("hops", "cosines", *NUMBERS)}
        places = {index: place for place, index in enumerate(indexes)}
        outdated = {
            places[older]: replace(mark, newer=places[mark.newer])
            for older, mark in self.outdated.items()
            if older in places and mark.newer in places
        }
        return replace(self, outdated=outdated, **taken)

    def with_row(self, row: Row, cosines: Mapping[Key, float], technique: str) -> "CandidatePool":
        """The pool with the memories of another row that it does not have yet."""
        known = set(self.keys)
        places = [place for place, key in enumerate(row["memory_ids"] or ()) if key not in known]
        if not places:
            return self
        keys = [row["memory_ids"][place] for place in places]
        added: dict[str, Any] = {name: tuple(row[name][place] for place in places) for name in _LISTS}
        joined = {name: getattr(self, name) + values for name, values in added.items()}
        arrays = {name: [row[name][place] for place in places] for name in NUMBERS}
        arrays |= {"hops": [np.inf] * len(keys), "cosines": [cosines.get(key, np.nan) for key in keys]}
        joined |= {name: np.append(getattr(self, name), values) for name, values in arrays.items()}
        return replace(
            self,
            keys=[*self.keys, *keys],
            origins=[*self.origins, *((row, place) for place in places)],
            found_by=(*self.found_by, *((technique,) for _ in keys)),
            **joined,
        )


def build_pool(
    lookup: OwnerLookup, request: Request, lexical: LexicalMatches, semantic: SemanticMatches
) -> CandidatePool:
    """The candidates of all searches of an owner, from the row that has their features."""
    row = semantic.row if semantic.row is not None and semantic.row["memory_ids"] is not None else _NO_ROW
    keys: Sequence[Key] = row["memory_ids"]
    found: dict[str, Sequence[Key]] = {
        "text": lexical.found,
        "graph": list(lookup.entity_hops),
        "vector": semantic.keys,
        "time": semantic.by_time,
        "newest": lookup.newest,
    }
    found_by = _found_by(keys, found)
    columns: dict[str, Any] = {name: tuple(row[name]) for name in _LISTS}
    columns |= {name: np.asarray(row[name], float) for name in NUMBERS}
    mean, deviation = smoothed_statistics(semantic.statistics)
    return CandidatePool(
        readable=lookup.readable,
        lexical=lexical,
        keys=keys,
        origins=[(row, place) for place in range(len(keys))],
        **columns,
        found_by=found_by,
        hops=_hops(lookup.entity_hops, keys),
        cosines=aligned_cosines(keys, semantic_cosines(semantic.row)),
        outdated=_outdated(row, keys),
        cosine_mean=mean,
        cosine_deviation=deviation,
        counts=_counts(found, found_by, request),
        lacks_word_statistics=lookup.terms.lacks_statistics and lookup.readable.covers_everything,
        lacks_vector_index=semantic.lacks_index,
    )


def _outdated(row: Row, keys: Sequence[Key]) -> OutdatedCandidates:
    """The candidates that are marked as outdated, and those of which another one shows it."""
    if not keys:
        return {}
    marks = outdated_candidates([row])
    return {**same_frame_candidates(row, marks), **marks.among(keys)}


_LISTS = ("conversations", "positions", "roles", "names", "channels", "terms")
_NO_ROW: Row = dict.fromkeys(("memory_ids", *_LISTS, *NUMBERS), ())


def _found_by(keys: Sequence[Key], found: Mapping[str, Sequence[Key]]) -> tuple[tuple[str, ...], ...]:
    """For each candidate the techniques that found it."""
    names_of: dict[Key, tuple[str, ...]] = {}
    for name, found_keys in found.items():
        for key in found_keys:
            names_of[key] = (*names_of.get(key, ()), name)
    return tuple(names_of.get(key, _NEIGHBOUR) for key in keys)


_NEIGHBOUR = ("neighbours",)


def _hops(entity_hops: Mapping[Key, int], keys: Sequence[Key]) -> Floats:
    if not entity_hops:
        return np.full(len(keys), np.inf)
    return np.array([entity_hops.get(key, np.inf) for key in keys], float)


def _counts(
    found: Mapping[str, Sequence[Key]], found_by: Sequence[Sequence[str]], request: Request
) -> dict[str, int]:
    """How many candidates each technique found; neighbours are those that no other technique found."""
    counts = {name: len(keys) for name, keys in found.items()}
    counts["neighbours"] = sum("neighbours" in techniques for techniques in found_by)
    return {name: count for name, count in counts.items() if name in request.techniques}
