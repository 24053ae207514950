"""The JSON types that represent the Python types of parameters.

JSON types are wider than the signature where the call itself validates a value: a choice is any string, and
so are a time and an id that the call also takes as text. So the call rejects an invalid value with the same
message on every transport. The JSON schema still names the intended type. Entities and triples are sent as
their ids.
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
# An integer stays an integer, so that error messages show it as it was given.
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
        # In a list, an id is a reference, which may be any text.
        return list[str] if _members(inner) == {str, UUID} else list[json_type(inner)]  # type: ignore[misc]
    if origin is tuple:
        return _tuple(get_args(annotation))
    if origin in (Mapping, dict):
        return dict[str, Any]
    return _WIRE.get(annotation, annotation)


def is_json(annotation: Any) -> bool:
    """Whether a parameter takes arbitrary JSON, which must not be converted."""
    members = _members(annotation)
    return Any in members or (str not in members and any(get_origin(each) is Mapping for each in members))


def is_list(annotation: Any) -> bool:
    """Whether a parameter takes several values; in a query it is repeated."""
    return any(get_origin(member) in _LISTS for member in _members(annotation))


def _members(annotation: Any) -> set[Any]:
    """The types in a union, without None; the type itself if it is not a union."""
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
    """The type of several kinds of text in one union; next to lists and pairs, an id may be any text."""
    if alone and UUID in texts:
        return IdText
    return MomentText if datetime in texts else str
