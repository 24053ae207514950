"""A profile: the overview of an owner or a name (`overview.py`), sorted into sections, within a token budget.

It is selected from at most as many memories as an overview: the newest ones, and those nearest to what
profiles contain. For another owner's memories the reader needs a grant, as in recall: nothing else is read.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from mnemic.models.embedding import TextEmbedder
from mnemic.models.tokens import count_tokens
from mnemic.recall.candidates.collection import collect_candidates
from mnemic.recall.overview import overview_pools, rank_overview, widened
from mnemic.recall.overview_question import OverviewQuestion
from mnemic.recall.packing import indented, sharing_label
from mnemic.recall.query_analysis import QueryAnalysis, analyse_query
from mnemic.recall.query_embedding import embed_query, with_serving_embedder
from mnemic.recall.records import read_records
from mnemic.recall.request import MAX_TOKENS_MAX, Filter, Request, channels_of
from mnemic.recall.selection import RankedCandidate, select_candidates
from mnemic.recall.stage_timer import StageTimer
from mnemic.runtime.core import Caller
from mnemic.text_analysis.personal_facts import Facet, facets_of
from mnemic.types.checks import check_whole
from mnemic.types.memory import MemoryRecord
from mnemic.types.profile import SECTION_NAMES, Profile, ProfileLine, ProfileSection, SectionName
from mnemic.types.recalled import TECHNIQUES
from mnemic.types.scope import Scope, check_name

LINES_MAX = 80
SECTION_LINES_MAX = 12
MODEL_ROLES = ("assistant", "system", "tool")
"""Turns of these roles are left out: a model may claim about a person what nobody said."""
ABOUT_OWNER = "What do you know about me: my name, age, home, family, job, health, likes and plans?"
"""The text whose neighbours are candidates, besides the newest memories."""

SECTIONS: Mapping[Facet, SectionName] = {
    "identity": "identity",
    "home": "identity",
    "health": "identity",
    "people": "people",
    "work": "work",
    "preferences": "preferences",
    "habits": "preferences",
    "expertise": "expertise",
    "style": "style",
    "current": "current",
}
HEADINGS: Mapping[SectionName, str] = {
    "identity": "Identity",
    "people": "Family and people",
    "work": "Work",
    "preferences": "Preferences and habits",
    "expertise": "Expertise",
    "style": "How to answer",
    "current": "Current matters",
    "recent": "Recent",
}


def profile_request(
    entity: object, scope: Scope, *, max_tokens: object, channels: object, techniques: frozenset[str]
) -> tuple[Request, OverviewQuestion]:
    """Validate the arguments of `profile`. Raises InvalidInputError with the field and what is allowed."""
    name = check_name("entity", entity) if entity is not None else None
    request = Request(
        query=name or ABOUT_OWNER,
        scope=scope,
        filter=Filter(channels=channels_of(scope, channels)),
        limit=LINES_MAX,
        max_tokens=check_whole("max_tokens", max_tokens, 1, MAX_TOKENS_MAX),
        as_of=None,
        asked_at=datetime.now(UTC),
        refuse_below=None,
        techniques=techniques.intersection(TECHNIQUES),
        explain=False,
        include=frozenset(),
        names_channels=channels is not None,
    )
    return request, OverviewQuestion("owner") if name is None else OverviewQuestion("entity", name=name)


async def make_profile(caller: Caller, request: Request, question: OverviewQuestion) -> Profile:
    """The profile of the owner or of the name; without sections if nothing is known."""
    analysis = replace(analyse_query(request.query, request.asked_at), windows=(), overview=question)
    return await with_serving_embedder(caller.core, partial(_profile, caller, request, analysis))


async def _profile(
    caller: Caller, request: Request, analysis: QueryAnalysis, embedder: TextEmbedder
) -> Profile:
    database, timer = caller.database, StageTimer()
    embed = partial(embed_query, caller.core, embedder, request, (), timer)
    candidates = await collect_candidates(database, widened(request, analysis), analysis, embed, timer)
    pools, answered = overview_pools(candidates.pools, analysis)
    empty = Profile(request.scope.require_owner(), analysis.overview.name if analysis.overview else None)
    if answered.overview is None or not any(map(len, pools)):
        return replace(empty, notes=(*candidates.notes, "Nothing is known yet."))
    rankings = [rank_overview(pool, answered, request.moment.timestamp()) for pool in pools]
    selected = select_candidates(pools, rankings, request.limit)
    records = await read_records(database, request, selected)
    packed = _pack(empty, selected, records, request.max_tokens or MAX_TOKENS_MAX)
    return replace(packed, memory_count=sum(map(len, pools)), notes=(*candidates.notes, *packed.notes))


def _pack(
    profile: Profile,
    selected: Sequence[RankedCandidate],
    records: Mapping[bytes, MemoryRecord],
    max_tokens: int,
) -> Profile:
    """Fill the sections in the order in which the memories were selected, until the budget is spent."""
    title = f"What is known about {'the owner' if profile.entity is None else indented(profile.entity)}:"
    used = count_tokens(title + "\n")
    lines: dict[SectionName, list[ProfileLine]] = {name: [] for name in SECTION_NAMES}
    left_out: Counter[str] = Counter()
    for candidate in selected:
        record = records.get(candidate.key)
        if record is None or record.role in MODEL_ROLES:
            continue
        section = _section(record)
        line = _line(record, candidate.score)
        heading = "" if lines[section] else f"{HEADINGS[section]}\n"
        cost = count_tokens(f"{heading}{_written(line, profile.owner)}\n")
        if used + cost > max_tokens or len(lines[section]) >= SECTION_LINES_MAX:
            left_out["lines"] += 1
            continue
        lines[section].append(line)
        used += cost
    lines["recent"].sort(key=lambda line: line.at, reverse=True)
    sections = tuple(ProfileSection(name, tuple(each)) for name, each in lines.items() if each)
    blocks = [
        "\n".join([HEADINGS[section.name], *(_written(line, profile.owner) for line in section.lines)])
        for section in sections
    ]
    notes = (f"{left_out['lines']} memories were left out: the budget or their section is full.",)
    return replace(
        profile,
        sections=sections,
        text="\n".join([title, *blocks]) if blocks else "",
        token_count=used if blocks else 0,
        notes=notes if left_out else (),
    )


def _section(record: MemoryRecord) -> SectionName:
    facets = facets_of(record.content, record.category)
    return SECTIONS[facets[0]] if facets else "recent"


def _line(record: MemoryRecord, score: float) -> ProfileLine:
    happened_at = record.at or record.valid_from or record.created_at
    return ProfileLine(record.memory_id, happened_at, record.owner, record.content, round(score, 4))


def _written(line: ProfileLine, reader: str) -> str:
    """A line of the text: date, id and who shares it in brackets, as in the text of recall."""
    label = sharing_label(line.owner, reader)
    head = ", ".join(filter(None, [f"{line.at:%Y-%m-%d}", str(line.memory_id), label]))
    return f"[{head}] {indented(line.content)}"
