"""From the types that calls take in Python to the types that stand for them in JSON.

The wire is a little wider than the signature where the call itself checks a value: a choice is any text
there; a moment or an id is, too, if the call takes them as text. So a wrong one is refused by the same check,
in the same words, wherever the memory lives. What a type is meant to be still stands in its JSON schema. An
entity or a statement travels as its id.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import Base64Bytes, WithJsonSchema

_LISTS = (Sequence, Iterable, Collection, list, set, frozenset)

IdText = Annotated[str, WithJsonSchema({"type": "string", "format": "uuid"})]
MomentText = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
# A whole number stays one, so that an error repeats it as it was given.
Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
_WIRE: dict[Any, Any] = {float: Number, bytes: Base64Bytes}


def json_type(annotation: Any) -> Any:
    """The type of a parameter in JSON."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return _union(get_args(annotation))
    if origin is Literal:
        words = list(get_args(annotation))
        return Annotated[str, WithJsonSchema({"type": "string", "enum": words})]
    if origin in _LISTS:
        (inner,) = get_args(annotation)
        # In a list, ids are references that may be other texts, too.
        return list[str] if _members(inner) == {str, UUID} else list[json_type(inner)]  # type: ignore[misc]
    if origin is tuple:
        return _tuple(get_args(annotation))
    if origin in (Mapping, dict):
        return dict[str, Any]
    return _WIRE.get(annotation, annotation)


def is_json(annotation: Any) -> bool:
    """Whether a parameter is any JSON of the caller's own, which must not be made to fit."""
    members = _members(annotation)
    return Any in members or (str not in members and any(get_origin(each) is Mapping for each in members))


def is_list(annotation: Any) -> bool:
    """Whether a parameter takes several values: in a query, it is repeated."""
    return any(get_origin(member) in _LISTS for member in _members(annotation))


def _members(annotation: Any) -> set[Any]:
    """The types in a union, without None; the type itself if it is none."""
    if get_origin(annotation) not in (Union, UnionType):
        return {annotation}
    return set(get_args(annotation)) - {NoneType}


def _tuple(inner: tuple[Any, ...]) -> Any:
    if len(inner) == 2 and inner[1] is ...:
        return list[json_type(inner[0])]  # type: ignore[misc]
    return tuple[tuple(json_type(each) for each in inner)]  # type: ignore[misc]


def _union(members: tuple[Any, ...]) -> Any:
    kept = [member for member in members if not is_dataclass(member)]
    texts = {member for member in kept if str in kept and member in (str, UUID, datetime, Decimal)}
    others = [json_type(member) for member in kept if member not in texts]
    text = _text(texts, alone=not set(kept) - texts - {NoneType})
    return Union[tuple([text, *others] if texts else others)]  # noqa: UP007


def _text(texts: set[Any], *, alone: bool) -> Any:
    """What several kinds of text are together; next to lists and pairs, an id may be any text."""
    if alone and UUID in texts:
        return IdText
    return MomentText if datetime in texts else str
