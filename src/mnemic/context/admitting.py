"""Admit what an agent has read to its session: `memory.context(session).admit`.

The library has no transcript of a client, so the window of such a session consists of its objects. Each
admission counts as a request: the window decides at which level the new object is shown, and may begin an
epoch. The session is locked meanwhile, so that two processes can admit objects to it at the same time.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mnemic.context.changing import held_window
from mnemic.context.description import describe
from mnemic.context.entry import Entry
from mnemic.context.level_store import WrittenLevels, written_levels_in
from mnemic.context.levels.kinds import kind_of
from mnemic.context.levels.level import FULL, ObjectType, Source
from mnemic.context.levels.tokens import tokens_of
from mnemic.context.policy.settings import PagingSettings
from mnemic.context.policy.zones import Pressure
from mnemic.context.saved_rows import (
    KEY_MAX_CHARACTERS,
    SOURCE_KEY_MAX_CHARACTERS,
    TOOL_MAX_CHARACTERS,
    Described,
    as_text,
    object_from,
    storable,
)
from mnemic.context.step import Admission, SavedObject, SavedWindow, Step
from mnemic.context.store import CONTENT_MAX_BYTES, SESSIONS_MAX, content_hash, place_of, save_step
from mnemic.context.window import Window
from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.types.checks import check_choice, check_flag, check_text
from mnemic.types.context import (
    CONTEXT_OBJECT_TYPES,
    AdmittedObject,
    ContextObjectType,
    ContextPressure,
)
from mnemic.types.scope import Scope
from mnemic.types.tags import check_tags

_NUMBER_CHARACTERS = 12
"""Room for the number at the end of a key."""


@dataclass(frozen=True, slots=True)
class NewObject:
    """What a caller admits, checked."""

    text: str
    type: ObjectType
    tool: str
    source_key: str
    tags: tuple[str, ...]
    is_pinned: bool
    is_error: bool
    is_recalled: bool

    @property
    def source(self) -> Source:
        """What its levels are made from."""
        return Source(self.text, self.type, self.tool, self.source_key, self.is_error)

    def entry(self, key: str) -> Entry:
        """The object as an entry of a window."""
        return Entry(
            key=key,
            role="result",
            text=self.text,
            tool=self.tool,
            type=self.type,
            source_key=self.source_key,
            is_error=self.is_error,
            is_pageable=True,
        )


def check_new_object(
    content: str,
    *,
    type: ContextObjectType | None,
    tool: str | None,
    key: str | None,
    tags: object,
    pinned: bool,
    is_error: bool,
    is_recalled: bool,
) -> NewObject:
    """The arguments of `admit`, checked; InvalidInputError names what is wrong."""
    text = check_text("content", content, max_characters=CONTENT_MAX_BYTES)
    if len(text.encode()) > CONTENT_MAX_BYTES:
        raise InvalidInputError(f"content is longer than {CONTENT_MAX_BYTES:,} bytes.")
    name = check_text("tool", tool, max_characters=TOOL_MAX_CHARACTERS) if tool is not None else ""
    source = check_text("key", key, max_characters=SOURCE_KEY_MAX_CHARACTERS) if key is not None else ""
    if type is not None:
        check_choice("type", type, CONTEXT_OBJECT_TYPES)
    return NewObject(
        text=text,
        type=type or kind_of(name, {"path": source} if source else {}, text),
        tool=name,
        source_key=source,
        tags=check_tags(tags) if tags is not None else (),
        is_pinned=check_flag("pinned", pinned),
        is_error=check_flag("is_error", is_error),
        is_recalled=check_flag("is_recalled", is_recalled),
    )


async def admit(
    database: TenantDatabase, scope: Scope, session: str, new: NewObject, settings: PagingSettings
) -> AdmittedObject:
    """Admit an object to a session, which begins if it is new; returns what is shown of it."""
    return await database.run(lambda transaction: _admit(transaction, scope, session, new, settings))


async def _admit(
    transaction: Transaction, scope: Scope, session: str, new: NewObject, settings: PagingSettings
) -> AdmittedObject:
    place = place_of(scope, session)
    opened = {**place, "channel": scope.channel, "sessions_max": SESSIONS_MAX}
    held = await transaction.first("context.hold_session", place)
    if held is None:
        # The limit counts sessions of an owner: those that begin at the same time take turns.
        await transaction.execute("context.lock_sessions", place)
        await transaction.execute("context.open", opened)
        held = await transaction.first("context.hold_session", place)
    if held is None:
        raise ConflictError(
            f"The owner has {SESSIONS_MAX:,} sessions, which is the limit: delete some of them first."
        )
    window = await held_window(transaction, scope, session)
    rows = await transaction.rows("context.window_contents", {**place, "session_id": held["session_id"]})
    position = (await transaction.one("context.next_position", held))["position"]
    key = _key(new, position + 1)
    levels = await written_levels_in(transaction, scope, session, window.level_count)
    decided = await asyncio.to_thread(_decide, window, rows, new, key, settings, levels)
    await save_step(
        transaction,
        scope,
        session,
        decided.step,
        decided.window,
        {key: new.text},
        previous=window,
        described={key: decided.described},
    )
    return _admitted(new, decided)


@dataclass(frozen=True, slots=True)
class _Decided:
    step: Step
    window: SavedWindow
    admission: Admission
    item: SavedObject
    described: Described
    pressure: Pressure


def _decide(
    saved: SavedWindow,
    rows: list[Row],
    new: NewObject,
    key: str,
    settings: PagingSettings,
    levels: WrittenLevels,
) -> _Decided:
    """Let the window decide. It is made again from its objects, which takes time: in a thread."""
    window = Window(settings, saved, make_level=levels.make)
    entries = [*(_entry(row) for row in rows), new.entry(key)]
    step = window.observe(
        entries, fixed_tokens=0, now=datetime.now(UTC), at_user_turn=True, model=saved.model
    )
    after = window.saved()
    paged = {item.key: item for item in after.objects}
    short = {item.key: _superseded(item, new, key) for item in saved.objects if item.key not in paged}
    item = paged.get(key) or _short_object(new, key, step.call, after.tokens_per_char)
    admission = {each.key: each for each in step.admissions}.get(key) or _short_admission(key)
    if new.is_pinned:
        item = replace(item, is_pinned=True, level=FULL, sent_text=None)
        admission = replace(admission, level=FULL, reason="pinned")
    known = {**short, **paged, key: item}
    others = tuple(each for each in step.admissions if each.key != key)
    return _Decided(
        step=replace(step, admissions=(*others, admission)),
        window=replace(after, objects=tuple(known[entry.key] for entry in entries)),
        admission=admission,
        item=item,
        described=describe(new.source, tags=new.tags, is_recalled=new.is_recalled),
        pressure=window.pressure(),
    )


def _short_object(new: NewObject, key: str, call: int, tokens_per_char: float) -> SavedObject:
    """An object of a text that the window never replaces, because a shorter one would save nothing."""
    return SavedObject(
        key=key,
        type=new.type,
        tool=new.tool,
        source_key=new.source_key,
        content_hash=content_hash(new.text),
        tokens=(tokens_of(new.text, tokens_per_char), 0, 0, 0, 0),
        level=FULL,
        sent_text=None,
        first_call=call,
        last_use=call,
        is_error=new.is_error,
    )


def _short_admission(key: str) -> Admission:
    return Admission(key=key, level=FULL, score=1.0, parts={}, threshold=0.0, reason="a short text")


def _superseded(item: SavedObject, new: NewObject, key: str) -> SavedObject:
    is_older_copy = bool(new.source_key) and item.source_key == new.source_key and not item.superseded_by
    return replace(item, superseded_by=key) if is_older_copy else item


def _entry(row: Row) -> Entry:
    item = object_from(row)
    return Entry(
        key=item.key,
        role="result",
        text=as_text(row["content"]),
        tool=item.tool,
        type=item.type,
        source_key=item.source_key,
        is_error=item.is_error,
        is_pageable=True,
    )


def _key(new: NewObject, number: int) -> str:
    """Where the object comes from, and its number: a file that is read again is another object."""
    origin = new.source_key or new.tool or new.type
    return f"{storable(origin, KEY_MAX_CHARACTERS - _NUMBER_CHARACTERS)}#{number}"


def _admitted(new: NewObject, decided: _Decided) -> AdmittedObject:
    shown = new.text if decided.item.sent_text is None else decided.item.sent_text
    admission = decided.admission
    return AdmittedObject(
        key=admission.key,
        level=decided.item.level,
        text=shown,
        tokens=round(len(shown) * decided.window.tokens_per_char),
        score=admission.score,
        parts=dict(admission.parts),
        threshold=admission.threshold,
        reason=admission.reason,
        pressure=as_public(decided.pressure),
    )


def as_public(pressure: Pressure) -> ContextPressure:
    """The pressure as users see it."""
    return ContextPressure(pressure.tokens, pressure.budget_tokens, round(pressure.share, 4), pressure.zone)
