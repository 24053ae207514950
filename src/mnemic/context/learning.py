"""Learn from a session: what was pinned, faulted or reused becomes memories of the owner.

A memory holds the lines that were asked for, or a short form of the object (level 2), never the whole text.
It is a candidate: certain enough to be recalled in its channel, not enough to be promoted before it proved
useful there. Its metadata names the session and the object. The change log records it and can undo it.

`state.context_learned` has a row for each content that was learned, so that none is learned twice, also if
two workers close a session at the same time, or if the memory was forgotten. Results of tools that recall
memories are never learned.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from mnemic.context.levels.level import Source
from mnemic.context.levels.passages import find_passage
from mnemic.context.levels.shortening import make_level
from mnemic.context.saved_rows import as_text, storable
from mnemic.context.store import place_of
from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.errors import ConflictError
from mnemic.record.changesets import MemoryChange, stage_and_apply
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller, Core
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope

PROCESS = "context.close_idle"
OBJECTS_MAX = 20
"""Objects of one session that become memories, the most useful ones."""
QUESTIONS_MAX = 3
"""Questions about an object whose answers its memory holds, the newest ones."""
PASSAGE_TOKENS = 200
TEXT_MAX_CHARACTERS = 2_000
REUSE_CALLS = 20
"""An object that is used so many requests after it was first sent was reused."""
CONFIDENCE = 0.7
"""Below the threshold of promotion (0.85): a candidate."""
TAG = "context"


@dataclass(frozen=True, slots=True)
class _Useful:
    """An object that is worth a memory, and the text of that memory."""

    key: str
    source_key: str
    content_hash: bytes
    text: str
    reason: str
    signals: dict[str, float]


async def learn(core: Core, scope: Scope, session: str) -> tuple[UUID, ...]:
    """Make memories of the useful objects of a session that were not learned yet; returns their ids."""
    parameters: dict[str, Any] = {
        **place_of(scope, session),
        "questions_max": QUESTIONS_MAX,
        "reuse_calls": REUSE_CALLS,
        "limit": OBJECTS_MAX,
    }
    async with core.storage.tenant_database.transaction() as transaction:
        rows = await transaction.rows("context_sessions.useful", parameters)
    if not rows:
        return ()
    found = _without_repetitions(await asyncio.to_thread(_all_useful, rows))
    try:
        return await _retain(core, replace(scope, process=PROCESS), session, found)
    except _LearnedMeanwhileError:
        return ()


class _LearnedMeanwhileError(ConflictError):
    """Rolls back memories that another worker has just stored."""


async def _retain(core: Core, scope: Scope, session: str, found: Sequence[_Useful]) -> tuple[UUID, ...]:
    ids: tuple[UUID, ...] = ()

    async def record(transaction: Transaction, retained: Retained) -> None:
        nonlocal ids
        ids = retained.memory_ids
        known = {item.index: item.memory_id for item in retained.stored}
        known |= {item.index: item.duplicate_of for item in retained.duplicates}
        learned = {
            **place_of(scope, session),
            "hashes": [item.content_hash for item in found],
            "keys": [item.key for item in found],
            "source_keys": [item.source_key for item in found],
            "memory_ids": [known.get(index) for index in range(len(found))],
        }
        if len(await transaction.rows("context_sessions.learned", learned)) < len(found):
            raise _LearnedMeanwhileError("Another worker has learned from this session.")
        await transaction.execute("context_sessions.mark_learned", learned)
        new = {item.index: item.memory_id for item in retained.stored}
        if new:
            await _log(transaction, scope, [(found[index], new[index]) for index in sorted(new)])

    fields = {
        "category": "reference",
        "tags": [TAG],
        "source": "inferred",
        "provenance": "witnessed",
        "confidence": CONFIDENCE,
    }
    await retain_items(Caller(core, scope), [_item(session, item) for item in found], fields, and_then=record)
    return ids


async def _log(transaction: Transaction, scope: Scope, added: Sequence[tuple[_Useful, UUID]]) -> None:
    changes = [
        MemoryChange(memory_id, "add", {}, item.reason, signals=item.signals) for item, memory_id in added
    ]
    await stage_and_apply(
        transaction,
        scope,
        changes,
        purpose="consolidation",
        reason="Objects of a context session proved useful.",
    )


def _item(session: str, item: _Useful) -> dict[str, Any]:
    return {
        "content": item.text,
        "metadata": {
            "context_session": session,
            "context_object": item.key,
            "context_source": item.source_key,
            "content_hash": item.content_hash.hex(),
        },
        "evidence": [f"context:{session}"],
    }


def _all_useful(rows: Sequence[Row]) -> list[_Useful]:
    return [_useful(row) for row in rows]


def _useful(row: Row) -> _Useful:
    text = as_text(row["content"])
    reason = _reason(row)
    origin = row["source_key"] or row["tool"] or row["type"]
    content = f"{origin} ({row['type']}). {reason}\n{_body(row, text)}"
    return _Useful(
        key=row["key"],
        source_key=row["source_key"],
        content_hash=bytes(row["content_hash"]),
        text=storable(content, TEXT_MAX_CHARACTERS).strip(),
        reason=reason,
        signals={
            "faults": float(row["fault_count"]),
            "copies": float(row["copy_count"]),
            "calls_between_uses": float(row["last_use"] - row["first_call"]),
        },
    )


def _body(row: Row, text: str) -> str:
    """The lines that were asked for; without questions, the object at level 2."""
    passages = [
        find_passage(text, question, PASSAGE_TOKENS, path=row["source_key"]) for question in row["questions"]
    ]
    found = dict.fromkeys(passage.text for passage in passages if passage.is_found)
    if found:
        return "\n".join(found)
    return make_level(Source(text, row["type"], row["tool"], row["source_key"]), 2).text


def _reason(row: Row) -> str:
    if row["is_pinned"] and not row["fault_count"]:
        return "It was pinned in a session."
    if row["fault_count"]:
        return f"It was needed again {row['fault_count']} times in a session."
    if row["copy_count"] > 1:
        return f"It was read {row['copy_count']} times in a session."
    return "It was used again later in a session."


def _without_repetitions(found: Sequence[_Useful]) -> list[_Useful]:
    """Each content once: the same text may be several objects of a session."""
    return list({item.content_hash: item for item in reversed(found)}.values())[::-1]
