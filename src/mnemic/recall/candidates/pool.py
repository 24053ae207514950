"""The candidate pool: all candidates of one owner, column by column, with everything that ranking needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mnemic.db.connection import Row
from mnemic.db.id_arrays import Key
from mnemic.recall.candidates.cosines import (
    Floats,
    aligned_cosines,
    lexical_cosines,
    sample_statistics,
    semantic_cosines,
    smoothed_statistics,
)
from mnemic.recall.candidates.lexical import LexicalMatches
from mnemic.recall.candidates.owner_lookup import OwnerLookup
from mnemic.recall.candidates.semantic import SemanticMatches
from mnemic.recall.query_embedding import QueryEmbedding, VectorQuery
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.request import Request


@dataclass(frozen=True)
class CandidatePool:
    """Candidates of one owner; each column has one value per candidate.

    `terms` are bit fields: bit n stands for term n of the query. `cosines` is NaN for a memory without a
    vector. `hops` is the number of relations to an entity of the query, infinite without one. `origins` has
    the database row and the index in its arrays that each candidate came from. `bridges` is set for a join.
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
    bridges: Floats | None = None

    @property
    def texts(self) -> list[str]:
        """The text of each candidate; empty for a long one, which the searches do not return."""
        return [row["content"][place] or "" for row, place in self.origins]

    def __len__(self) -> int:
        """How many candidates there are."""
        return len(self.keys)

    def taking(self, indexes: Sequence[int]) -> "CandidatePool":
        """A pool of these candidates only; statistics stay those of the owner."""
        taken: dict[str, Any] = {
            name: tuple(getattr(self, name)[index] for index in indexes)
            for name in ("keys", "origins", "found_by", *_LISTS)
        }
        taken |= {name: getattr(self, name)[list(indexes)] for name in ("hops", "cosines", *_FLOATS)}
        return replace(self, **taken)

    def with_row(self, row: Row, cosines: Mapping[Key, float], technique: str) -> "CandidatePool":
        """The pool with the memories of another row that it does not have yet."""
        known = set(self.keys)
        places = [place for place, key in enumerate(row["memory_ids"] or ()) if key not in known]
        if not places:
            return self
        keys = [row["memory_ids"][place] for place in places]
        added: dict[str, Any] = {name: tuple(row[name][place] for place in places) for name in _LISTS}
        joined = {name: getattr(self, name) + values for name, values in added.items()}
        arrays = {name: [row[name][place] for place in places] for name in _FLOATS}
        arrays |= {"hops": [np.inf] * len(keys), "cosines": [cosines.get(key, np.nan) for key in keys]}
        joined |= {name: np.append(getattr(self, name), values) for name, values in arrays.items()}
        return replace(
            self,
            keys=[*self.keys, *keys],
            origins=[*self.origins, *((row, place) for place in places)],
            found_by=(*self.found_by, *((technique,) for _ in keys)),
            **joined,
        )


class PoolBuilder:
    """Merges the matches of an owner's searches into a pool.

    The lexical matches come first: they are merged while the semantic search runs.
    """

    def __init__(
        self,
        lookup: OwnerLookup,
        request: Request,
        embedding: QueryEmbedding | None,
        lexical: LexicalMatches,
    ) -> None:
        self._lookup, self._request, self._lexical = lookup, request, lexical
        query = VectorQuery.of(lookup.terms.vector_table, embedding)
        self._columns = _Columns()
        self._columns.add(lexical.row)
        self._cosines = lexical_cosines(lexical.row, query)
        self._sample = sample_statistics(lexical.row, query)

    def build(self, semantic: SemanticMatches) -> CandidatePool:
        """The pool, once the semantic search is done."""
        lookup = self._lookup
        found: dict[str, Sequence[Key]] = {
            "text": self._lexical.found,
            "graph": list(lookup.entity_hops),
            "vector": semantic.keys,
            "time": semantic.by_time,
            "newest": lookup.newest,
        }
        self._columns.add(semantic.row)
        columns = self._columns.joined(found)
        mean, deviation = smoothed_statistics(semantic.statistics or self._sample)
        return CandidatePool(
            readable=lookup.readable,
            lexical=self._lexical,
            **columns,
            hops=_hops(lookup.entity_hops, columns["keys"]),
            cosines=aligned_cosines(columns["keys"], self._cosines | semantic_cosines(semantic.row)),
            cosine_mean=mean,
            cosine_deviation=deviation,
            counts=_counts(found, columns["found_by"], self._request),
            lacks_word_statistics=lookup.terms.lacks_statistics and lookup.readable.covers_everything,
            lacks_vector_index=semantic.lacks_index,
        )


_FLOATS = ("bytes", "happened_at_s", "confidences", "usefulnesses", "saliences", "anchored", "tenses")
_LISTS = ("conversations", "positions", "roles", "names", "channels", "terms")


class _Columns:
    """The columns of a pool, joined from the arrays of database rows; the first row with a memory wins."""

    def __init__(self) -> None:
        self._indexes: dict[Key, int] = {}
        self._origins: list[tuple[Row, int]] = []
        self._values: dict[str, list[Any]] = {name: [] for name in (*_LISTS, *_FLOATS)}

    def add(self, row: Row | None) -> None:
        """Append the memories of a row that are not there yet."""
        keys = row["memory_ids"] if row is not None else None
        if row is None or keys is None:
            return
        new = [place for place, key in enumerate(keys) if key not in self._indexes]
        for name, values in self._values.items():
            values += row[name] if len(new) == len(keys) else [row[name][place] for place in new]
        for place in new:
            self._indexes[keys[place]] = len(self._indexes)
            self._origins.append((row, place))

    def joined(self, found: Mapping[str, Sequence[Key]]) -> dict[str, Any]:
        """All columns, and for each candidate the techniques that found it."""
        columns: dict[str, Any] = {name: tuple(self._values[name]) for name in _LISTS}
        columns |= {name: np.array(self._values[name], float) for name in _FLOATS}
        found_by: list[tuple[str, ...]] = [()] * len(self._indexes)
        for name, keys in found.items():
            for key in keys:
                if (index := self._indexes.get(key)) is not None:
                    found_by[index] += (name,)
        return columns | {
            "keys": list(self._indexes),
            "origins": self._origins,
            "found_by": tuple(names or ("neighbours",) for names in found_by),
        }


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
