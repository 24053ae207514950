"""LangGraph's filters on values: equal fields, or comparisons such as {"score": {"$gte": 3}}."""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from mnemic.errors import InvalidInputError

_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value matches every field of a filter."""
    return all(_equals(value.get(name), inner) for name, inner in (wanted or {}).items())


def _equals(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, name, bound) for name, bound in wanted.items())
        return isinstance(value, Mapping) and matches(value, wanted)
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list | tuple) and len(value) == len(wanted) and all(map(_equals, value, wanted))
        )
    return bool(value == wanted)


def _compares(value: Any, name: str, bound: Any) -> bool:
    if name == "$eq":
        return bool(value == bound)
    if name == "$ne":
        return bool(value != bound)
    if name not in _ORDERED:
        raise InvalidInputError(f"A filter cannot compare by {name!r}: use $eq, $ne, {', '.join(_ORDERED)}.")
    try:
        return _ORDERED[name](float(value), float(bound))
    except (TypeError, ValueError):
        return False  # Not a number: no order.
