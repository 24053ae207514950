"""Decide what to do with a candidate: promote, supersede, merge, archive, prune, or keep it.

The rules are conservative: a memory is kept unless one of them says clearly that it should not be. Junk is
archived, not forgotten. Only what Mnemic itself archived long ago may be forgotten, and forgetting can be
undone. A memory that a user gave is never archived for being weak. Turns, documents and anchored memories are
no candidates at all.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from mnemic.curation.candidates import PROVENANCE_RANKS, Candidate
from mnemic.record.changesets import MemoryChange
from mnemic.text_analysis.statement_words import STATEMENT_STOPWORDS
from mnemic.text_analysis.statements import read_statement
from mnemic.types.checks import EVIDENCE_MAX
from mnemic.types.curation import CurationKind
from mnemic.types.memory import TAGS_MAX, MemoryRecord

SUPERSEDE_CERTAINTY = 0.8
"""A mark that is less certain stays a mark: recall ranks the newer memory first, and both are found."""
WEAK_CONFIDENCE = 0.5
WEAK_AFTER_DAYS = 180.0
"""A memory of low confidence that nothing confirmed and nobody used for so long is archived."""
PRUNE_AFTER_DAYS = 365.0
"""How long a weak memory stays archived and unused before forgetting it is proposed."""
CONFIRMED_REPETITIONS = 2
CONFIRMED_CONFIDENCE = 0.85
"""What a memory that waits for review needs to be promoted."""
MERGED_REASON = "It keeps the tags and the evidence of the memory that is merged into it."

_NEGATION = re.compile(
    r"\b(?:no|not|never|none|without|cannot|nicht|kein\w*|nie|jamais|pas|sin|nunca)\b|n['’]t\b", re.IGNORECASE
)

_CAPITALISED = re.compile(r"\b[A-ZÀ-ÖØ-Þ]\w*")

Others = Mapping[UUID, MemoryRecord]


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes that belong together: of the candidate, and of the memory that takes its place."""

    kind: CurationKind
    changes: tuple[MemoryChange, ...]
    versions: Mapping[UUID, int]
    """The versions that the classification has read."""
    kept_id: UUID | None = None
    """The memory that takes the place of the candidate."""


def classify(candidate: Candidate, others: Others, now: datetime) -> Proposal | None:
    """What to do with a candidate; None to keep it as it is."""
    for rule in _RULES[candidate.memory.status]:
        proposal = rule(candidate, others, now)
        if proposal is not None and not candidate.is_decided(proposal.kind, proposal.kept_id):
            return proposal
    return None


def _supersede(candidate: Candidate, others: Others, now: datetime) -> Proposal | None:
    """A newer memory gives another value of the same attribute, and is at least as trustworthy."""
    memory, newer = candidate.memory, others.get(candidate.newer_id) if candidate.newer_id else None
    if newer is None or candidate.certainty < SUPERSEDE_CERTAINTY or _rank(newer) < _rank(memory):
        return None
    reason = "A newer memory gives another value of the same attribute."
    return _proposal(candidate, "supersede", superseded_fields(memory, newer, now), reason, newer)


def _merge(candidate: Candidate, others: Others, now: datetime) -> Proposal | None:
    """A better memory says the same: the one that is anchored, better proved, or in the newest words."""
    memory = candidate.memory
    for like_id in candidate.likes:
        other = others.get(like_id)
        if other is None or _preference(other) < _preference(memory) or not _says_no_more(memory, other):
            continue
        fields = {"status": "merged", "merged_into": other.memory_id}
        reason = "Another memory says the same, and is better proved or newer."
        return _proposal(candidate, "merge", fields, reason, other)
    return None


def _archive_contradicted(candidate: Candidate, others: Others, now: datetime) -> Proposal | None:
    """It contradicts a memory that is anchored or has a better provenance."""
    memory = candidate.memory
    for rival_id in candidate.rival_ids:
        rival = others.get(rival_id)
        if rival is not None and (rival.anchored or _rank(rival) > _rank(memory)):
            strength = "anchored" if rival.anchored else rival.provenance
            reason = f"It contradicts a memory that is {strength}, while this one is {memory.provenance}."
            return _proposal(candidate, "archive", {"status": "archived"}, reason, rival=rival)
    return None


def _archive_weak(candidate: Candidate, others: Others, now: datetime) -> Proposal | None:
    """It was never certain, nothing confirmed it, and nobody used it."""
    if not _is_weak(candidate) or candidate.unused_days < WEAK_AFTER_DAYS:
        return None
    reason = (
        f"Its confidence is {candidate.memory.confidence:.2f}, nothing confirmed it, and it was not used for "
        f"{candidate.unused_days:.0f} days."
    )
    return _proposal(candidate, "archive", {"status": "archived"}, reason)


def _promote_confirmed(candidate: Candidate, others: Others, now: datetime) -> Proposal | None:
    """It waits for review, was confirmed several times, and contradicts nothing that is active."""
    memory = candidate.memory
    has_rival = any(rival_id in others for rival_id in candidate.rival_ids)
    if (
        has_rival
        or memory.reinforcement_count < CONFIRMED_REPETITIONS
        or memory.confidence < CONFIRMED_CONFIDENCE
    ):
        return None
    reason = f"It was confirmed {memory.reinforcement_count} times, and it contradicts no active memory."
    return _proposal(candidate, "promote", {"status": "active"}, reason)


def _promote_used(candidate: Candidate, others: Others, now: datetime) -> Proposal | None:
    """Mnemic archived it, and it has been recalled since."""
    memory = candidate.memory
    if memory.changed_by != "system" or memory.last_retrieved_at is None:
        return None
    if memory.last_retrieved_at <= memory.recorded_at or _is_over(memory, now):
        return None
    reason = "It was archived and has been recalled since."
    return _proposal(candidate, "promote", {"status": "active"}, reason)


def _prune(candidate: Candidate, others: Others, now: datetime) -> Proposal | None:
    """Mnemic archived it long ago because it was weak, and nobody has used it since."""
    is_old = min(candidate.unchanged_days, candidate.unused_days) >= PRUNE_AFTER_DAYS
    if candidate.memory.changed_by != "system" or not is_old or not _is_weak(candidate):
        return None
    reason = f"It was archived {candidate.unchanged_days:.0f} days ago as weak, and was not used since."
    return _proposal(candidate, "prune", {"deleted_at": now}, reason)


Rule = Callable[[Candidate, Others, datetime], Proposal | None]

# The rules for memories of each status; the first one that applies decides.
_RULES: Mapping[str, tuple[Rule, ...]] = {
    "active": (_supersede, _merge, _archive_contradicted, _archive_weak),
    "pending_review": (_promote_confirmed,),
    "archived": (_promote_used, _prune),
}


def superseded_fields(memory: MemoryRecord, newer: MemoryRecord, now: datetime) -> dict[str, object]:
    """What superseding a memory by a newer one sets; its validity ends when that of the newer one begins."""
    fields: dict[str, object] = {"status": "superseded", "superseded_by": newer.memory_id}
    since = min(newer.valid_from or newer.at or newer.created_at, memory.valid_to or now)
    if memory.valid_from is None or since > memory.valid_from:
        fields["valid_to"] = since
    return fields


def merged_fields(kept: MemoryRecord, retired: MemoryRecord) -> dict[str, object]:
    """What merging a memory into another one sets in the kept one; nothing if that is anchored."""
    if kept.anchored:
        return {}
    after = merged(kept, retired)
    names = ("tags", "evidence")
    return {name: getattr(after, name) for name in names if getattr(after, name) != getattr(kept, name)}


def merged(kept: MemoryRecord, retired: MemoryRecord) -> MemoryRecord:
    """The kept memory with the tags and the evidence of both, where these have room."""
    tags = tuple(sorted({*kept.tags, *retired.tags}))
    evidence = tuple(dict.fromkeys((*kept.evidence, *retired.evidence)))
    return replace(
        kept,
        tags=tags if len(tags) <= TAGS_MAX else kept.tags,
        evidence=evidence if len(evidence) <= EVIDENCE_MAX else kept.evidence,
    )


def _proposal(
    candidate: Candidate,
    kind: CurationKind,
    fields: Mapping[str, object],
    reason: str,
    kept: MemoryRecord | None = None,
    *,
    rival: MemoryRecord | None = None,
) -> Proposal:
    memory = candidate.memory
    seen = [memory, *(each for each in (kept, rival) if each is not None)]
    change = MemoryChange(
        memory.memory_id,
        kind,
        fields,
        reason,
        evidence=tuple(each.memory_id for each in seen[1:]),
        signals=candidate.signals(),
    )
    versions = {each.memory_id: each.version for each in seen}
    return Proposal(kind, (change,), versions, kept.memory_id if kept is not None else None)


def _says_no_more(memory: MemoryRecord, kept: MemoryRecord) -> bool:
    """Whether all that a memory says is in its near duplicate, too, so that merging loses nothing.

    A word that only the memory has could be another value, and the same names in another order another
    statement ("Ann manages Ben").
    """
    said, kept_said = read_statement(memory.content), read_statement(kept.content)
    if said is None or kept_said is None or not said.words <= kept_said.words:
        return False
    return (
        said.values == kept_said.values
        and _capitalised(memory.content) == _capitalised(kept.content)
        and len(_NEGATION.findall(memory.content)) == len(_NEGATION.findall(kept.content))
    )


def _capitalised(text: str) -> list[str]:
    """The capitalised words of a text in their order, without those that only begin a sentence."""
    return [word for word in _CAPITALISED.findall(text) if word.casefold() not in STATEMENT_STOPWORDS]


def _is_weak(candidate: Candidate) -> bool:
    memory = candidate.memory
    return (
        memory.confidence <= WEAK_CONFIDENCE
        and memory.source != "user_provided"
        and memory.provenance != "measured"
        and memory.reinforcement_count == 0
        and memory.retrieval_count == 0
    )


def _is_over(memory: MemoryRecord, now: datetime) -> bool:
    return memory.expires_at is not None and memory.expires_at <= now


def _rank(memory: MemoryRecord) -> int:
    return PROVENANCE_RANKS[memory.provenance]


def _preference(memory: MemoryRecord) -> tuple[bool, int, datetime, UUID]:
    """Sort key: the memory that a merge keeps comes last."""
    return memory.anchored, _rank(memory), memory.at or memory.created_at, memory.memory_id
