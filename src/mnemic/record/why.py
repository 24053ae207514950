"""Why a memory is believed: the chain from a statement to the turns that it rests on; its replacements."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.record.memories import read_memory
from mnemic.types.memory import MemoryRecord
from mnemic.types.one_line import one_line, shortened
from mnemic.types.scope import Scope
from mnemic.types.why import StatementDetail, Why, WhyChange, WhyDerived, WhyReplacement, WhySource

DEPTH_MAX = 5
"""How far the chain is followed: a promoted memory, its origin, the statement, its turn."""
SOURCES_MAX = 50
LISTED_MAX = 20
"""Replaced memories, contradictions and changes that are listed."""
REPLACEMENTS_MAX = 10
"""How far the chain of memories that took the place of this one is followed."""
CONTENT_SHOWN_CHARACTERS = 280


async def explain_memory(database: TenantDatabase, scope: Scope, memory_id: UUID) -> Why:
    """What a memory of the owner rests on; NotFoundError if the owner has no such memory.

    Only memories of the same owner are shown, whatever refers to others.
    """
    owner = scope.require_owner()
    key = {"owner": owner, "memory_id": memory_id, "limit": LISTED_MAX}
    async with database.transaction(snapshot=True) as transaction:
        memory = await read_memory(transaction, owner, memory_id)
        statement = await transaction.first("why.statement", key)
        sources, notes = await _sources(transaction, owner, memory_id)
        replaced = [_replacement(row) for row in await transaction.rows("why.replaced", key)]
        replaced_by = await _replaced_by(transaction, owner, memory_id)
        rivals = await transaction.rows("why.contradicted_by", key)
        derived = [_derived(row) for row in await transaction.rows("why.derived", key)]
        changes = [WhyChange(**row) for row in await transaction.rows("why.changes", key)]
    return _why(
        memory,
        statement=StatementDetail(**statement) if statement is not None else None,
        sources=tuple(sources),
        replaced=tuple(replaced),
        replaced_by=tuple(replaced_by),
        contradicted_by=tuple(row["memory_id"] for row in rivals),
        changes=tuple(changes),
        notes=tuple(notes),
        derived=tuple(derived),
    )


async def _sources(
    transaction: Transaction, owner: str, memory_id: UUID
) -> tuple[list[WhySource], list[str]]:
    """The memories that it rests on, level by level; each of them once."""
    found: list[WhySource] = []
    known, level = {memory_id}, [memory_id]
    for depth in range(1, DEPTH_MAX + 1):
        room = SOURCES_MAX - len(found)
        rows = await transaction.rows("why.sources", {"owner": owner, "ids": level, "limit": room + 1})
        level = []
        for row in rows[:room]:
            if row["memory_id"] not in known:
                known.add(row["memory_id"])
                level.append(row["memory_id"])
                found.append(_source(row, depth))
        if len(rows) > room:
            return found, [f"It rests on more than {SOURCES_MAX} memories; the others are left out."]
        if not level:
            return found, []
    return found, [f"The chain is followed over {DEPTH_MAX} steps."]


async def _replaced_by(transaction: Transaction, owner: str, memory_id: UUID) -> list[WhyReplacement]:
    """The chain of memories that took the place of this one, the first one first."""
    found: list[WhyReplacement] = []
    known = {memory_id}
    while len(found) < REPLACEMENTS_MAX:
        row = await transaction.first("why.replaced_by", {"owner": owner, "memory_id": memory_id})
        if row is None or row["memory_id"] in known:
            break
        memory_id = row["memory_id"]
        known.add(memory_id)
        found.append(_replacement(row))
    return found


def _source(row: dict[str, Any], depth: int) -> WhySource:
    content = shortened(row["content"], CONTENT_SHOWN_CHARACTERS)
    return WhySource(**{**row, "content": content, "depth": depth})


def _replacement(row: dict[str, Any]) -> WhyReplacement:
    return WhyReplacement(**{**row, "content": shortened(row["content"], CONTENT_SHOWN_CHARACTERS)})


def _derived(row: dict[str, Any]) -> WhyDerived:
    return WhyDerived(**{**row, "content": shortened(row["content"], CONTENT_SHOWN_CHARACTERS)})


def _why(memory: MemoryRecord, **parts: Any) -> Why:
    known: dict[str, Any] = {
        "memory_id": memory.memory_id,
        "content": memory.content,
        "category": memory.category,
        "source": memory.source,
        "provenance": memory.provenance,
        "confidence": memory.confidence,
        "anchored": memory.anchored,
        "status": memory.status,
        "is_forgotten": memory.deleted_at is not None,
        "at": memory.at or memory.created_at,
        "conversation": memory.conversation,
        "role": memory.role,
        "name": memory.name,
        "evidence": _other_evidence(memory, parts["sources"]),
    }
    why = Why(**known, **parts, text="")
    return Why(**known, **parts, text="\n".join(_lines(why)))


def _other_evidence(memory: MemoryRecord, sources: Sequence[WhySource]) -> tuple[str, ...]:
    """Evidence that is not among the sources: extraction names the turns of a statement as its evidence."""
    known = {str(source.memory_id) for source in sources}
    return tuple(each for each in memory.evidence if each not in known)


def _lines(why: Why) -> Iterator[str]:
    yield one_line(why.content)
    yield f"  {_standing(why)}"
    if why.statement is not None:
        stated = why.statement
        negated = "not " if stated.is_negated else ""
        said = f"{stated.subject}: {stated.attribute} = {negated}{stated.value}"
        yield one_line(f"{said} ({stated.tense}, {stated.certainty}, by {stated.extractor})", indent=2)
    yield from _listed("It rests on:", [_source_line(source) for source in why.sources])
    yield from _listed("Evidence that was given:", [one_line(each) for each in why.evidence])
    yield from _listed("It replaced:", [_replacement_line(each) for each in why.replaced])
    yield from _listed("It was replaced by:", [_replacement_line(each) for each in why.replaced_by])
    derived = [f"{one_line(each.content)} ({each.memory_id})" for each in why.derived]
    yield from _listed("Rests on it:", derived)
    yield from _listed("It is contradicted by:", [str(each) for each in why.contradicted_by])
    yield from _listed("Changes that Mnemic proposed or made:", [_change_line(each) for each in why.changes])
    yield from (f"  Note: {note}" for note in why.notes)


def _standing(why: Why) -> str:
    """Where it comes from, in one sentence."""
    status = "forgotten" if why.is_forgotten else why.status.replace("_", " ")
    words = [status, why.source.replace("_", " "), why.provenance, f"confidence {why.confidence:.2f}"]
    if why.anchored:
        words.append("anchored")
    said = _speaker(why.name, why.role, why.conversation, None)
    return one_line(f"{', '.join(words)}; {why.at:%Y-%m-%d}{said}")


def _source_line(source: WhySource) -> str:
    words = f'"{one_line(source.quotation)}"' if source.quotation is not None else one_line(source.content)
    said = _speaker(source.name, source.role, source.conversation, source.position)
    gone = ", forgotten" if source.is_forgotten else ""
    indent = "  " * (source.depth - 1)
    return f"{indent}{words} ({source.at:%Y-%m-%d}{one_line(said)}{gone}; {source.memory_id})"


def _speaker(name: str | None, role: str | None, conversation: str | None, position: int | None) -> str:
    speaker = f"{name} ({role})" if name and role else name or role
    parts = [speaker] if speaker else []
    if conversation is not None:
        parts.append(f"conversation {conversation}")
    if position is not None:
        parts.append(f"turn {position}")
    return "".join(f", {part}" for part in parts)


def _replacement_line(each: WhyReplacement) -> str:
    reason = f": {one_line(each.reason)}" if each.reason else ""
    return f"{one_line(each.content)} ({each.how} on {each.replaced_at:%Y-%m-%d}; {each.memory_id}){reason}"


def _change_line(change: WhyChange) -> str:
    reason = one_line(change.reason)
    return f"{change.kind}, {change.state} ({change.purpose}, changeset {change.changeset_id}): {reason}"


def _listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"  {title}"
        yield from (f"  - {line}" for line in lines)
