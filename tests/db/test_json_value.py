"""JSON from callers is checked before it reaches the database."""

import json
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from mnemic.db.json_value import JSON_MAX_BYTES, as_jsonb, as_jsonb_object, as_jsonb_objects
from mnemic.errors import InvalidInputError


@pytest.mark.parametrize(
    "value", [None, 1, "text", {"a": [1, 2.5, None]}, "a literal \\u0000 is only text", "\\", "ünïcode ✓"]
)
def test_valid_json_is_accepted(value: Any) -> None:
    assert stored(as_jsonb("field", value)) == value


def test_objects_become_one_array_and_the_error_names_a_bad_item() -> None:
    assert stored(as_jsonb_objects("item", [{}, {"a": "],["}])) == [{}, {"a": "],["}]
    assert stored(as_jsonb_objects("item", [])) == []
    with pytest.raises(InvalidInputError, match="item 1"):
        as_jsonb_objects("item", [{}, {"a": float("nan")}])


def stored(value: Jsonb) -> Any:
    """The JSON that the database gets."""
    assert value.dumps is not None
    return json.loads(value.dumps(value.obj))


@pytest.mark.parametrize(
    "value",
    ["\0", {"key\0": 1}, ["\\\0"], "\ud800", float("nan"), {1, 2}, object(), "x" * (JSON_MAX_BYTES + 1)],
    ids=["nul", "nul in a key", "nul behind a backslash", "surrogate", "nan", "set", "object", "too large"],
)
def test_the_error_for_invalid_json_names_the_field(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="field"):
        as_jsonb("field", value)


@pytest.mark.parametrize("value", [[], "text", {1: 2}])
def test_an_object_with_other_keys_than_text_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="field"):
        as_jsonb_object("field", value)
