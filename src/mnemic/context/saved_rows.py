"""Rows of a saved window: dataclasses of `step.py` as query parameters, and back.

Fields of the dataclasses that have no column are kept in the column `more`, so that a field which the policy
adds survives a restart without a migration.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from psycopg.types.json import Jsonb

from mnemic.context.step import Fault, Relation, SavedObject, SavedWindow, Step
from mnemic.db.connection import Row
from mnemic.db.json_value import as_jsonb
from mnemic.errors import InvalidInputError
from mnemic.types.identity import new_id

KEY_MAX_CHARACTERS = 512
TOOL_MAX_CHARACTERS = 256
SOURCE_KEY_MAX_CHARACTERS = 4_096
LINE_MAX_CHARACTERS = 2_048
NAMES_MAX = 64
NAME_MAX_CHARACTERS = 256
REASON_MAX_CHARACTERS = 1_024
QUESTION_MAX_CHARACTERS = 4_096
RESTORED_MAX = 1_024
"""Keys of restored objects that the record of one fault lists."""
SAVE_MAX_BYTES = 256 << 20
"""JSON of one save: bounded by OBJECTS_MAX, so this only protects the process."""

_OBJECT_COLUMNS = frozenset(
    (
        "key",
        "type",
        "tool",
        "source_key",
        "content_hash",
        "tokens",
        "level",
        "sent_text",
        "first_call",
        "last_use",
        "is_error",
        "is_pinned",
        "superseded_by",
        "faults",
    )
)
_WINDOW_COLUMNS = frozenset(
    (
        "objects",
        "related",
        "epoch",
        "calls",
        "tokens_per_char",
        "sent_at",
        "model",
        "saved_usd",
        "version",
        "level_count",
    )
)


@dataclass(frozen=True, slots=True)
class Described:
    """What is stored of a new object beside its state in the window."""

    line: str = ""
    """The object in one line."""
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    is_recalled: bool = False


def window_parameters(window: SavedWindow) -> dict[str, Any]:
    """The columns of the session."""
    return {
        "epoch": window.epoch,
        "call_count": window.calls,
        "tokens_per_char": window.tokens_per_char,
        "model": storable(window.model, TOOL_MAX_CHARACTERS),
        "sent_at": window.sent_at,
        "saved_usd": window.saved_usd,
        "more": as_jsonb("the window", _more_values(window, _WINDOW_COLUMNS), max_bytes=SAVE_MAX_BYTES),
    }


def object_parameters(changed: Sequence[SavedObject], described: Mapping[str, Described]) -> dict[str, Any]:
    """Objects to insert or update; those in `described` also get what is only stored of new ones."""
    sent = [item for item in changed if item.sent_text is not None]
    return {
        "objects": _jsonb(
            _object_row(index, item, described.get(item.key)) for index, item in enumerate(changed)
        ),
        "sent_keys": [item.key for item in sent],
        "sent_texts": [as_bytes(item.sent_text or "") for item in sent],
    }


def described_rows(described: Mapping[str, Described]) -> Jsonb:
    """Lines and names of objects that are stored already."""
    return _jsonb({"key": key, **_description(each)} for key, each in described.items())


def relationship_parameters(
    added: Iterable[tuple[str, str, Relation]], removed: Iterable[tuple[str, str, Relation]]
) -> dict[str, Any]:
    """Relationships to insert and to delete."""
    names = ("from_key", "to_key", "relation")
    return {
        "related": _jsonb(dict(zip(names, one, strict=True)) for one in added),
        "unrelated": _jsonb(dict(zip(names, one, strict=True)) for one in removed),
    }


def decision_parameters(
    step: Step | None, faults: Sequence[Fault], window: SavedWindow, *, full_tokens: int | None
) -> dict[str, Any]:
    """Rows of the history. Their ids ascend in the order in which the decisions were taken."""
    call = step.call if step is not None else max(window.calls - 1, 0)
    epoch = step.epoch if step is not None else None
    rows: dict[str, list[dict[str, Any]]] = {
        "epochs": [_event(call, asdict(epoch))] if epoch is not None else [],
        "transitions": [_event(call, asdict(each)) for each in step.transitions] if step else [],
        "admissions": [
            _event(call, {**_shallow(each), "parts": dict(each.parts)}) for each in step.admissions
        ]
        if step
        else [],
        "faults": [_fault_row(call, fault) for fault in faults],
        "steps": [
            _event(
                call,
                {
                    "tokens": step.tokens,
                    "full_tokens": full_tokens,
                    "zone": step.zone,
                    "saved_usd": window.saved_usd,
                },
            )
        ]
        if step
        else [],
    }
    return {name: _jsonb(found) for name, found in rows.items()}


def window_from(row: Row, objects: Sequence[Row]) -> SavedWindow:
    """The window in a row of `context.session` and rows of `context.window_objects`."""
    return SavedWindow(
        objects=tuple(object_from(each) for each in objects),
        related=tuple((one[0], one[1], one[2]) for one in row["related"]),
        epoch=row["epoch"],
        calls=row["call_count"],
        tokens_per_char=row["tokens_per_char"],
        sent_at=row["sent_at"],
        model=row["model"],
        saved_usd=row["saved_usd"],
        version=row["version"],
        level_count=row["level_count"],
        **_from_more(SavedWindow, row["more"]),
    )


def object_from(row: Row) -> SavedObject:
    """The object in a row of `context.window_objects`."""
    first, second, third, fourth, fifth = row["tokens"]
    return SavedObject(
        key=row["key"],
        type=row["type"],
        tool=row["tool"],
        source_key=row["source_key"],
        content_hash=bytes(row["content_hash"]),
        tokens=(first, second, third, fourth, fifth),
        level=row["level"],
        sent_text=as_text(row["sent_text"]) if row["sent_text"] is not None else None,
        first_call=row["first_call"],
        last_use=row["last_use"],
        is_error=row["is_error"],
        is_pinned=row["is_pinned"],
        superseded_by=row["superseded_by"],
        faults=row["fault_count"],
        **_from_more(SavedObject, row["more"]),
    )


def as_bytes(text: str) -> bytes:
    """Text as it is stored: UTF-8 that also holds lone surrogates, which JSON of clients may contain."""
    return text.encode("utf-8", "surrogatepass")


def as_text(stored: bytes) -> str:
    """The inverse of `as_bytes`."""
    return bytes(stored).decode("utf-8", "surrogatepass")


def storable(text: str, max_characters: int) -> str:
    """Text that a column of PostgreSQL can hold; other characters are replaced, what is too long is cut."""
    cut = text[:max_characters].replace("\0", "\N{REPLACEMENT CHARACTER}")
    return cut.encode("utf-8", "replace").decode() if not cut.isascii() else cut


def check_key(key: str) -> str:
    """The key of an object; InvalidInputError if it cannot be stored exactly."""
    if not 1 <= len(key) <= KEY_MAX_CHARACTERS or storable(key, KEY_MAX_CHARACTERS) != key:
        raise InvalidInputError(
            f"The key of an object has 1 to {KEY_MAX_CHARACTERS} characters, without NUL and broken Unicode."
        )
    return key


def _object_row(index: int, item: SavedObject, described: Described | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "index": index,
        "key": check_key(item.key),
        "type": item.type,
        "tool": storable(item.tool, TOOL_MAX_CHARACTERS),
        "source_key": storable(item.source_key, SOURCE_KEY_MAX_CHARACTERS),
        "content_hash": item.content_hash.hex(),
        "tokens": list(item.tokens),
        "level": item.level,
        "first_call": item.first_call,
        "last_use": item.last_use,
        "is_error": item.is_error,
        "is_pinned": item.is_pinned,
        "superseded_by": item.superseded_by,
        "fault_count": item.faults,
        "more": _more_values(item, _OBJECT_COLUMNS),
    }
    if described is not None:
        row |= {**_description(described), "tags": list(described.tags)}
    return row


def _description(described: Described) -> dict[str, Any]:
    return {
        "line": storable(described.line, LINE_MAX_CHARACTERS),
        "names": [storable(name, NAME_MAX_CHARACTERS) for name in described.names[:NAMES_MAX]],
        "is_recalled": described.is_recalled,
    }


def _fault_row(call: int, fault: Fault) -> dict[str, Any]:
    values = asdict(fault)
    return _event(
        call,
        {
            **values,
            "question": storable(fault.question, QUESTION_MAX_CHARACTERS),
            "restored": list(fault.restored[:RESTORED_MAX]),
        },
    )


def _event(call: int, values: Mapping[str, Any]) -> dict[str, Any]:
    row = {"event_id": str(new_id()), "call": call, **values}
    if "reason" in row:
        row["reason"] = storable(row["reason"], REASON_MAX_CHARACTERS)
    return row


def _shallow(item: Any) -> dict[str, Any]:
    return {field.name: getattr(item, field.name) for field in fields(item)}


def _more_values(item: Any, columns: frozenset[str]) -> dict[str, Any]:
    return {name: _json(value) for name, value in _shallow(item).items() if name not in columns}


def _json(value: Any) -> Any:
    """A value whose texts PostgreSQL can store in JSON."""
    match value:
        case str():
            return storable(value, SOURCE_KEY_MAX_CHARACTERS)
        case tuple() | list():
            return [_json(each) for each in value]
        case Mapping():
            return {_json(key): _json(each) for key, each in value.items()}
    return value


def _from_more(kind: type[Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that are still known; JSON has lists where the dataclasses have tuples."""
    known = {field.name for field in fields(kind)}
    return {name: _hashable(value) for name, value in more.items() if name in known}


def _hashable(value: Any) -> Any:
    return tuple(_hashable(each) for each in value) if isinstance(value, list) else value


def _jsonb(rows: Iterable[Mapping[str, Any]]) -> Jsonb:
    return as_jsonb("the window", list(rows), max_bytes=SAVE_MAX_BYTES)
