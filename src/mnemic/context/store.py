"""Stores windows: what a process needs to continue a session after a restart, and the history of decisions.

A window is saved by one statement in one transaction: the state of the session, objects and relationships
that changed, full texts that are new, and the decisions of the step. A save names the version that it is
based on. If another process has saved the session meanwhile, nothing is written, and the caller gets
ConflictError: it loads the window again and repeats its step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

from mnemic.context.saved_rows import (
    Described,
    as_bytes,
    as_text,
    decision_parameters,
    object_parameters,
    relationship_parameters,
    window_from,
    window_parameters,
)
from mnemic.context.step import Fault, SavedObject, SavedWindow, Step
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError
from mnemic.types.scope import Scope, check_name

SESSIONS_MAX = 20_000
"""Sessions of one owner. The daily job deletes old ones (`context_retention_days`)."""
OBJECTS_MAX = 10_000
"""Objects in the window of one session."""
CONTENT_MAX_BYTES = 16 << 20
"""The full text of one object, as UTF-8."""
TOKENS_CHANGE_SHARE = 0.1
"""Estimates of tokens are only written again if they changed by more than this."""

Tokens = tuple[int, int, int, int, int]


async def load_window(database: TenantDatabase, scope: Scope, session: str) -> SavedWindow | None:
    """The window of a session as it was last saved; None if there is no such session."""
    async with database.transaction() as transaction:
        return await load_window_in(transaction, scope, session)


async def load_window_in(transaction: Transaction, scope: Scope, session: str) -> SavedWindow | None:
    """The same inside a transaction."""
    row = await transaction.first("context.session", place_of(scope, session))
    if row is None:
        return None
    objects = await transaction.rows("context.window_objects", {"session_id": row["session_id"]})
    return window_from(row, objects)


async def save_step(
    transaction: Transaction,
    scope: Scope,
    session: str,
    step: Step | None,
    window: SavedWindow,
    contents: Mapping[str, str],
    *,
    previous: SavedWindow | None = None,
    faults: Sequence[Fault] = (),
    described: Mapping[str, Described] | None = None,
) -> SavedWindow:
    """Save a window and what was decided; returns the window as it is stored now.

    `previous` is what `load_window` or the last `save_step` of this process returned; None for a new session.
    Only objects that differ from it are written. `contents` are full texts by key: of new objects they are
    required, others are ignored. `step` is None if there were only faults or pins. ConflictError if another
    process has saved the session since `previous`, or if a limit is reached; then nothing is written.
    """
    known = previous if previous is not None else SavedWindow()
    window = replace(window, objects=_with_known_tokens(window, known))
    changed, gone = _changed_objects(window, known)
    full_tokens = _full_tokens(step, window) if step is not None else None
    parameters = {
        **place_of(scope, session),
        "channel": scope.channel,
        "version": known.version,
        "sessions_max": SESSIONS_MAX,
        "reopens": step is not None,
        "zone": step.zone if step is not None else None,
        "tokens": step.tokens if step is not None else None,
        "full_tokens": full_tokens,
        "gone_keys": gone,
        **window_parameters(window),
        **_content_parameters(changed, known, contents),
        **object_parameters(changed, described or {}),
        **relationship_parameters(
            set(window.related) - set(known.related), set(known.related) - set(window.related)
        ),
        **decision_parameters(step, faults, window, full_tokens=full_tokens),
    }
    version = (await transaction.one("context.save", parameters))["version"]
    if version is None:
        raise await _refusal(transaction, scope, session, known.version)
    return replace(window, version=version)


async def load_contents(
    transaction: Transaction, scope: Scope, session: str, keys: Sequence[str] | None = None
) -> dict[str, str]:
    """Full texts by key: of all objects of a session, or of those with these keys that exist."""
    parameters = {**place_of(scope, session), "keys": list(keys) if keys is not None else None}
    rows = await transaction.rows("context.contents", parameters)
    return {row["key"]: as_text(row["content"]) for row in rows}


def content_hash(text: str) -> bytes:
    """SHA-256 of a full text, by which it is stored."""
    return sha256(as_bytes(text)).digest()


def place_of(scope: Scope, session: str) -> dict[str, Any]:
    """The parameters that name a session."""
    return {"owner": scope.require_owner(), "session": check_name("session", session)}


def _changed_objects(window: SavedWindow, known: SavedWindow) -> tuple[list[SavedObject], list[str]]:
    """Objects that are new or differ from those that are stored, and keys of those that left the window."""
    if len(window.objects) > OBJECTS_MAX:
        raise ConflictError(
            f"The session has {len(window.objects):,} objects; the limit is {OBJECTS_MAX:,}. Start a new one."
        )
    before = {item.key: item for item in known.objects}
    changed = [item for item in window.objects if before.get(item.key) != item]
    gone = sorted(before.keys() - {item.key for item in window.objects})
    return changed, gone


def _with_known_tokens(window: SavedWindow, known: SavedWindow) -> tuple[SavedObject, ...]:
    """The objects, with estimates of tokens as they are stored unless they changed much.

    Every report of usage calibrates all estimates a little: that alone should not write all objects again.
    """
    before = {item.key: item for item in known.objects}
    return tuple(
        replace(item, tokens=_merged_tokens(before[item.key].tokens, item.tokens))
        if item.key in before and before[item.key].content_hash == item.content_hash
        else item
        for item in window.objects
    )


def _merged_tokens(stored: Tokens, new: Tokens) -> Tokens:
    """A level that was made before a restart keeps its estimate: the window does not know it any more."""
    filled = tuple(after or before for before, after in zip(stored, new, strict=True))
    is_near = all(
        (before and abs(after - before) <= TOKENS_CHANGE_SHARE * before) or after == before
        for before, after in zip(stored, filled, strict=True)
    )
    return stored if is_near else cast("Tokens", filled)


def _content_parameters(
    changed: Sequence[SavedObject], known: SavedWindow, contents: Mapping[str, str]
) -> dict[str, Any]:
    stored = {item.key: item.content_hash for item in known.objects}
    hashes, texts = list[bytes](), list[bytes]()
    for item in changed:
        if stored.get(item.key) == item.content_hash:
            continue
        if item.key not in contents:
            raise InvalidInputError(f"The full text of the object {item.key!a} is missing.")
        encoded = as_bytes(contents[item.key])
        if len(encoded) > CONTENT_MAX_BYTES:
            raise InvalidInputError(
                f"The object {item.key!a} has {len(encoded):,} bytes; the limit is {CONTENT_MAX_BYTES:,}."
            )
        hashes.append(item.content_hash)
        texts.append(encoded)
    return {"content_hashes": hashes, "contents": texts}


def _full_tokens(step: Step, window: SavedWindow) -> int:
    """Tokens of the request if every object were shown in full."""
    return step.tokens + sum(
        max(item.tokens[0] - round(len(item.sent_text) * window.tokens_per_char), 0)
        for item in window.objects
        if item.sent_text is not None
    )


async def _refusal(transaction: Transaction, scope: Scope, session: str, version: int) -> ConflictError:
    row = await transaction.first("context.hold_session", place_of(scope, session))
    if row is None and version == 0:
        return ConflictError(
            f"The owner has {SESSIONS_MAX:,} sessions, which is the limit: delete some of them first."
        )
    return ConflictError(
        f"The session {session!a} was changed by another process: load its window again, then repeat."
    )
