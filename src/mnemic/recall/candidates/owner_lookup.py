"""The first step for each readable owner, without a vector: the query's terms, entities and time windows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mnemic.db.database import TenantDatabase
from mnemic.db.id_arrays import Key
from mnemic.recall.candidates.entities import search_entities
from mnemic.recall.candidates.granted import count_granted, counts_granted_only
from mnemic.recall.candidates.newest import search_newest
from mnemic.recall.candidates.query_terms import BranchView, QueryTerms, read_query_terms
from mnemic.recall.candidates.term_correction import correct_terms
from mnemic.recall.candidates.time_windows import TimeWindows
from mnemic.recall.query_analysis import QueryAnalysis
from mnemic.recall.readable_owners import ReadableOwner
from mnemic.recall.request import Request
from mnemic.recall.spelling import corrected, suspects_in
from mnemic.recall.stage_timer import StageTimer


@dataclass(frozen=True)
class OwnerLookup:
    """What the lexical and the semantic search of one owner start from.

    `entity_hops` are the candidates by entity, with how many relations they are away from the query's
    entities; `time_windows` are the times that the query names, `newest` the newest memories for an
    overview. `counts_granted_only` says that the searches are those of `granted`.
    """

    readable: ReadableOwner
    terms: QueryTerms
    entity_hops: Mapping[Key, int]
    time_windows: TimeWindows
    newest: Sequence[Key] = ()
    counts_granted_only: bool = False

    @property
    def known_keys(self) -> list[Key]:
        """The candidates that are known before the searches."""
        return [*self.entity_hops, *self.newest]


async def look_up_owner(
    database: TenantDatabase,
    readable: ReadableOwner,
    request: Request,
    analysis: QueryAnalysis,
    timer: StageTimer,
) -> OwnerLookup:
    """Read the query's terms, mostly with the memories that have them, then candidates by entity and the
    newest memories."""
    with timer.measure("text"):
        by_words = "text" in request.techniques
        suspects = suspects_in(analysis.lexical_text) if by_words else ()
        searches = by_words and readable.grant_id is None
        terms = await read_query_terms(database, readable, request, analysis, suspects, searches=searches)
        readable = _in_branch(readable, terms.branch)
        is_confined = counts_granted_only(readable, terms)
        if suspects and (is_confined or terms.unknown):
            terms = await correct_terms(database, readable, request, analysis, terms, suspects, is_confined)
        if is_confined:
            terms = terms.among_granted(await count_granted(database, readable, request))
    with timer.measure("graph"):
        entity_hops: Mapping[Key, int] = {}
        # A grant opens memories. The giver's entities, with their aliases and relations, stay closed.
        if "graph" in request.techniques and terms.has_entities and readable.grant_id is None:
            named = corrected(analysis.lexical_text, terms.corrections)
            entity_hops = await search_entities(database, readable.owner, named)
    with timer.measure("time"):
        newest = await search_newest(database, readable, request, analysis)
    return OwnerLookup(readable, terms, entity_hops, TimeWindows.of(request, analysis), newest, is_confined)


def _in_branch(readable: ReadableOwner, view: BranchView | None) -> ReadableOwner:
    """What a recall reads if one of its channels is a branch."""
    if view is None:
        return readable
    wanted = readable.filter.in_branch(view.branch, view.past_channels, view.past_times)
    return replace(readable, filter=wanted)
