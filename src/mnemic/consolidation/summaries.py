"""Summaries of conversations: memories of their own, made again when a conversation has grown.

A summary quotes sentences of the conversation and rests on their turns: forgetting one of them forgets it. A
new summary supersedes the old one by a changeset. Recall ranks summaries below all other memories
(`recall/derived_memories.py`); a filter by their tag, `summary`, finds them.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from mnemic.db.connection import Row
from mnemic.db.database import Transaction
from mnemic.extraction.protocol import SourceText
from mnemic.extraction.speakers import speaker_of
from mnemic.record.changesets import MemoryChange, stage_and_apply
from mnemic.retain.pipeline import retain_items
from mnemic.runtime.core import Caller
from mnemic.text_analysis.summary import ChosenSentence, Said, summarise
from mnemic.types.retained import Retained
from mnemic.types.statement import SUMMARY_TAG

SUMMARY_MIN_TURNS = 6
"""Shorter conversations are their own summary."""
SUMMARY_GROWTH = 0.2
"""A summary is made again when its conversation has grown by this share."""
SUMMARY_HALF_TURNS = 200
"""Of long conversations the first and the last turns are read."""
SUMMARY_CONFIDENCE = 0.85


async def summarise_conversation(caller: Caller, conversation: str, turn_count: int) -> bool:
    """Make or renew the summary of a conversation if it is due; returns whether it did."""
    key = {"owner": caller.scope.require_owner(), "conversation": conversation}
    async with caller.database.transaction() as transaction:
        summarised = await transaction.first("consolidation.summarised", key)
        if not _is_due(turn_count, summarised["turn_count"] if summarised is not None else None):
            return False
        rows = await transaction.rows("consolidation.summary_turns", {**key, "half": SUMMARY_HALF_TURNS})
    chosen = summarise([_said(index, row) for index, row in enumerate(rows)])
    if not chosen:
        return False
    await _store(caller, key, turn_count, rows, chosen)
    return True


def _is_due(turn_count: int, summarised_count: int | None) -> bool:
    if turn_count < SUMMARY_MIN_TURNS:
        return False
    return summarised_count is None or turn_count >= summarised_count * (1 + SUMMARY_GROWTH)


def _said(index: int, row: Row) -> Said:
    source = SourceText(row["memory_id"], row["text"], row["role"], row["name"], row["at"], index)
    speaker = row["name"] or row["role"] or "somebody"
    return Said(index, speaker, row["text"], speaker_of(source) != "machine")


async def _store(
    caller: Caller,
    key: dict[str, str],
    turn_count: int,
    rows: Sequence[Row],
    chosen: Sequence[ChosenSentence],
) -> None:
    """Retain the summary, record what it rests on, and retire the old one, in one transaction."""
    turns = [rows[sentence.index]["memory_id"] for sentence in chosen]

    async def record(transaction: Transaction, retained: Retained) -> None:
        summary_id = retained.memory_ids[0]
        await transaction.execute("consolidation.advance", {**key, "next_position": 0})
        locked = await transaction.one("consolidation.lock_summary", key)
        quoted = dict(zip(turns, (sentence.text for sentence in chosen), strict=True))
        sources = {
            "ids": [summary_id] * len(quoted),
            "source_ids": list(quoted),
            "quotations": list(quoted.values()),
        }
        await transaction.execute("statements.add_sources", sources)
        if locked["summary_id"] not in (None, summary_id):
            await _retire(transaction, caller, locked["summary_id"], summary_id)
        await transaction.execute("consolidation.set_summary", {**key, "summary_id": summary_id})

    item = {
        "content": _text(chosen, rows[0]["at"], rows[-1]["at"]),
        "category": "episodic",
        "source": "inferred",
        "confidence": SUMMARY_CONFIDENCE,
        "at": rows[-1]["at"],
        "tags": [SUMMARY_TAG],
        "metadata": {"conversation": key["conversation"], "turn_count": turn_count},
        "evidence": [str(memory_id) for memory_id in dict.fromkeys(turns)],
    }
    await retain_items(caller, [item], {}, and_then=record)


async def _retire(transaction: Transaction, caller: Caller, old_id: UUID, new_id: UUID) -> None:
    change = MemoryChange(
        old_id,
        "supersede",
        {"status": "superseded", "superseded_by": new_id},
        "The conversation has grown.",
        evidence=(new_id,),
    )
    await stage_and_apply(
        transaction, caller.scope, [change], purpose="consolidation", reason="A summary was renewed."
    )


def _text(chosen: Sequence[ChosenSentence], first_at: datetime, last_at: datetime) -> str:
    days = f"{first_at:%Y-%m-%d}"
    if last_at.date() != first_at.date():
        days += f" to {last_at:%Y-%m-%d}"
    said = " ".join(f"{sentence.speaker}: {sentence.text}" for sentence in chosen)
    return f"Summary of a conversation ({days}). {said}"
