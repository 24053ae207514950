"""Levels 1 and 2 of full texts, kept by the hash of the text.

A level that rules make is stored when it was first needed. One that a language model wrote (`level_jobs.py`)
is preferred. A window gets the written levels when its session is loaded; what it has sent stays as it was,
because a window makes the level of an object only when the object changes its level.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from mnemic.context.levels.level import Level, LevelText, Source
from mnemic.context.levels.shortening import RULES, make_level, with_header
from mnemic.context.levels.tokens import tokens_of
from mnemic.context.saved_rows import as_bytes, as_text, storable
from mnemic.context.store import content_hash, place_of
from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.json_value import as_jsonb
from mnemic.types.context import ContextLevel, ContextLevelMaker
from mnemic.types.scope import Scope

SHORTER: tuple[Level, ...] = (1, 2, 3)
"""Levels that are shorter than the full text and not empty."""
STORED: tuple[Level, ...] = (1, 2)
"""Levels that are stored. Level 3 is one line, which its object has."""
WRITTEN_TITLE = "summary"
"""What the header of a level says that a model wrote: its lines are not those of the source."""
FACTS_MAX = 64
FACT_MAX_CHARACTERS = 1_024
LEVELS_MAX_BYTES = 1 << 20
"""What is stored of levels besides their texts, as JSON."""


@dataclass
class WrittenLevels:
    """Levels that a model has written, by the hash of the full text and the level."""

    count: int = 0
    """As the session counts them (`SavedWindow.level_count`)."""
    texts: Mapping[tuple[bytes, int], LevelText] = field(default_factory=dict)

    def make(self, source: Source, level: Level) -> LevelText:
        """The level that the model wrote, or else the one that rules make. For `Window(make_level=…)`."""
        written = self.texts.get((content_hash(source.text), level)) if level in STORED else None
        return under_header(source, written) if written is not None else make_level(source, level)


def under_header(source: Source, written: LevelText) -> LevelText:
    """A written level with the line that names its source."""
    text = with_header(source, WRITTEN_TITLE, written.text)
    return replace(written, text=text, tokens=tokens_of(text))


async def written_levels(
    database: TenantDatabase, scope: Scope, session: str, level_count: int
) -> WrittenLevels:
    """The written levels of the objects in a window; asks the database only if the session counts some."""
    if not level_count:
        return WrittenLevels()
    async with database.transaction() as transaction:
        return await written_levels_in(transaction, scope, session, level_count)


async def written_levels_in(
    transaction: Transaction, scope: Scope, session: str, level_count: int
) -> WrittenLevels:
    """The same inside a transaction."""
    if not level_count:
        return WrittenLevels()
    rows = await transaction.rows("context_levels.of_window", place_of(scope, session))
    texts = {(bytes(row["content_hash"]), int(row["level"])): _level_text(row) for row in rows}
    return WrittenLevels(level_count, texts)


async def levels_of(database: TenantDatabase, scope: Scope, source: Source) -> tuple[ContextLevel, ...]:
    """All levels of an object below the full text. Levels that rules make now are stored."""
    place = {"owner": scope.require_owner(), "content_hash": content_hash(source.text)}
    async with database.transaction() as transaction:
        rows = await transaction.rows("context_levels.of_content", place)
    stored = _stored_levels(source, rows)
    made = await asyncio.to_thread(_make_missing, source, stored)
    kept = [each for each in made if each.level in STORED and each.text != source.text]
    if kept:
        parameters = level_parameters(kept, made_by="rules", maker=RULES, source_hash=_source_hash(source))
        await database.run(
            lambda transaction: transaction.execute("context_levels.store", {**place, **parameters})
        )
    levels = {each.level: _as_public(each, "rules") for each in made} | stored
    return tuple(levels[level] for level in SHORTER)


def level_parameters(
    levels: Sequence[LevelText],
    *,
    made_by: ContextLevelMaker,
    maker: str,
    source_hash: bytes | None = None,
    dropped: Mapping[int, str] | None = None,
) -> dict[str, Any]:
    """Parameters of `context_levels.store`. `dropped` are reasons by level, of levels without a text."""
    rows: list[dict[str, Any]] = [
        {
            "level": each.level,
            "tokens": each.tokens,
            "lost": _facts(each.lost),
            "can_answer": _facts(each.can_answer),
            "fault_when": _facts(each.fault_when),
        }
        for each in levels
    ]
    nothing: dict[str, Any] = {"tokens": 0, "lost": [], "can_answer": [], "fault_when": []}
    rows += [{"level": level, "dropped": reason, **nothing} for level, reason in (dropped or {}).items()]
    return {
        "made_by": made_by,
        "maker": maker,
        "source_hash": source_hash,
        "levels": as_jsonb("levels", rows, max_bytes=LEVELS_MAX_BYTES),
        "numbers": [each.level for each in levels],
        "texts": [as_bytes(each.text) for each in levels],
    }


def _stored_levels(source: Source, rows: Sequence[Row]) -> dict[int, ContextLevel]:
    """Stored levels that can be used, by level: written ones before those of rules."""
    found: dict[int, ContextLevel] = {}
    for row in rows:
        level = _level_text(row)
        if row["made_by"] == "model":
            found[level.level] = _as_public(under_header(source, level), "model")
        elif row["maker"] == RULES and bytes(row["source_hash"]) == _source_hash(source):
            found.setdefault(level.level, _as_public(level, "rules"))
    return found


def _make_missing(source: Source, stored: Mapping[int, ContextLevel]) -> list[LevelText]:
    return [make_level(source, level) for level in SHORTER if level not in stored]


def _level_text(row: Row) -> LevelText:
    facts = (tuple(row[name]) for name in ("lost", "can_answer", "fault_when"))
    return LevelText(row["level"], as_text(row["text"]), row["tokens"], *facts)


def _as_public(level: LevelText, made_by: ContextLevelMaker) -> ContextLevel:
    return ContextLevel(
        level.level, level.text, level.tokens, level.lost, level.can_answer, level.fault_when, made_by
    )


def _source_hash(source: Source) -> bytes:
    """Hash of everything besides the full text from which rules make a level."""
    origin = (source.type, source.tool, source.key, source.is_error, source.handle, source.follows_call)
    return sha256(repr(origin).encode("utf-8", "surrogatepass")).digest()


def _facts(facts: Sequence[str]) -> list[str]:
    return [storable(fact, FACT_MAX_CHARACTERS) for fact in facts[:FACTS_MAX]]
