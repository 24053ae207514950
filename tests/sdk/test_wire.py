"""Arguments and results survive the round trip through HTTP."""

import inspect
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from mnemic.errors import InvalidInputError
from mnemic.sdk.http.surface import ROUTES, SURFACE
from mnemic.sdk.http.wire import Call, find_call
from mnemic.sdk.memory import AsyncMemory
from mnemic.server.descriptions import example
from mnemic.types.entity import Triple
from mnemic.types.recalled import Explanation, Hit, Recalled
from mnemic.types.retained import Duplicate, Refused, Retained, Stored
from mnemic.types.tiers import RevenueEvent, StateDocument

ID = UUID("019a8f2e-6c00-7abc-8def-0123456789ab")
WHEN = datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)
moments = st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC))


def call_named(name: str) -> Call:
    return find_call(ROUTES[name], AsyncMemory)


def received(call: Call, *arguments: Any, **named: Any) -> dict[str, Any]:
    """The arguments as the server parses them from the request."""
    request = call.request(None, *arguments, **named)
    path = {
        parameter.name: value
        for parameter, value in zip(
            [each for each in call.parameters if each.location == "path"],
            request.path.removeprefix(call.route.path.split("{", maxsplit=1)[0]).split("/"),
            strict=False,
        )
    }
    return call.arguments(path, request.query, request.body or b"")


def through(kind: Any, value: Any) -> Any:
    adapter = TypeAdapter(kind)
    return adapter.validate_json(adapter.dump_json(value))


@given(json_values)
def test_any_json_survives_a_round_trip(document: Any) -> None:
    written = StateDocument("alice", "k", document, 1, "sdk", WHEN, WHEN)
    read = through(StateDocument, written)
    assert read == written
    assert _shape(read.document) == _shape(document)


@given(json_values)
def test_any_json_can_be_an_argument(document: Any) -> None:
    assert received(call_named("state.set"), "k", document)["document"] == document


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    moments,
    st.decimals(allow_nan=False, allow_infinity=False),
)
def test_numbers_and_times_are_exact(number: float, moment: datetime, amount: Decimal) -> None:
    found = Recalled("q", confidence=number, timings={"total": number}, counts={"text": 3})
    assert through(Recalled, found) == found
    event = RevenueEvent(ID, "alice", "c", "p", moment, moment, amount, "EUR", "fee", None, {})
    assert through(RevenueEvent, event) == event


def test_results_of_retain_and_recall_survive_a_round_trip(a_hit: Hit) -> None:
    found = Recalled("q", (a_hit,), text="t", token_count=1, notes=("n",), timings={"total": 0.1})
    assert through(Recalled, found) == found
    kept = Retained((Stored(0, ID, (ID,)),), (Duplicate(1, ID),), (Refused(2, "why"),), 1, 1, 1, 0)
    assert through(Retained, kept) == kept
    assert through(Retained, kept).memory_ids == (ID, ID)


@pytest.fixture
def a_hit() -> Hit:
    from_row: Mapping[str, Any] = {
        name: _sample(parameter.annotation)
        for name, parameter in inspect.signature(Hit.__annotations__["memory"]).parameters.items()
    }
    record = Hit.__annotations__["memory"](**from_row)
    reasons = Explanation(("text",), {"text": 0.1}, 0.1, None, ("tea",), None, (), (ID,), ("e",), None)
    return Hit(record, 0.25, reasons, (record,), ("Alice",))


def _sample(annotation: Any) -> Any:
    samples = {UUID: ID, int: 3, str: "text", float: 0.1, bool: True, datetime: WHEN}
    if annotation in samples:
        return samples[annotation]
    text = str(annotation)
    if "tuple" in text:
        return ("a", "b")
    if "dict" in text:
        return {"a": [1, None]}
    return None if "None" in text else annotation.__args__[0]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_any_name_fits_into_a_path(name: str) -> None:
    request = call_named("state.get").request(None, name)
    segment = request.path.removeprefix("/v1/state/")
    assert "/" not in segment
    assert segment not in (".", "..")
    assert segment.isascii()


def test_arguments_are_parsed_as_the_call_takes_them() -> None:
    listed = received(
        call_named("memories.list"),
        tags=["a", "b"],
        statuses=None,
        since=WHEN,
        limit=5,
        include_forgotten=True,
    )
    assert listed == {
        "tags": ["a", "b"],
        "statuses": None,
        "since": WHEN.isoformat(),
        "limit": 5,
        "include_forgotten": True,
    }
    assert received(call_named("memories.list"), statuses=[], categories=[]) == {
        "statuses": [],
        "categories": [],
    }
    assert received(call_named("memories.list")) == {}
    assert received(call_named("state.list"), prefix="null", after="") == {"prefix": "null", "after": ""}


def test_entities_and_triples_are_sent_as_references() -> None:
    call = call_named("entities.unrelate")
    pair = received(call, ("person", "Alice"), str(ID), "null")
    assert pair == {"from_entity": ("person", "Alice"), "to_entity": str(ID), "kind": "null"}
    stated = Triple(ID, "alice", "s", "p", "o", 1.0, "witnessed", None, "sdk", WHEN)
    assert call_named("triples.remove").request(None, stated).path == f"/v1/triples/{ID}"


def test_bytes_survive_a_round_trip() -> None:
    assert received(call_named("documents.ingest"), "a.pdf", data=b"\x00\xff%PDF")["data"] == b"\x00\xff%PDF"


@pytest.mark.parametrize(
    ("name", "query", "body", "complaint"),
    [
        ("memories.list", [("colour", "red")], b"", "There is no parameter 'colour'"),
        ("memories.list", [("limit", "1"), ("limit", "2")], b"", "limit was given 2 times"),
        ("memories.list", [("limit", "many")], b"", "limit must be a whole number"),
        ("memories.list", [("limit", "null")], b"", "limit must be a whole number"),
        ("entities.unrelate", [("from_entity", "x")], b"", "to_entity is required"),
        ("recall", [], b"", "query is required"),
        ("recall", [], b'{"query": 5}', "query must be a string"),
        ("recall", [], b'{"query": "x", "limit": "5"}', "limit must be a whole number"),
        ("recall", [], b'{"query": "x", "explain": "yes"}', "explain must be true or false"),
        (
            "recall",
            [],
            b'{"query": "x", "colour": "red"}',
            "'colour' is not a field of this request; the fields are query, owner",
        ),
        ("recall", [], b"[1]", "The body must be an object"),
        ("recall", [], b"{", "The body is not valid JSON"),
        ("recall", [], b'{"query": "\\ud800"}', "The body is not valid JSON"),
        ("state.set", [], b'{"document": ' + b"[" * 5000 + b"]" * 5000 + b"}", "The body is not valid JSON"),
    ],
)
def test_an_invalid_request_is_a_clear_error(
    name: str, query: list[tuple[str, str]], body: bytes, complaint: str
) -> None:
    call = call_named(name)
    path = {parameter.name: "x" for parameter in call.parameters if parameter.location == "path"}
    with pytest.raises(InvalidInputError) as caught:
        call.arguments(path, query, body)
    assert complaint in str(caught.value)


def test_every_call_has_a_valid_example() -> None:
    for route in SURFACE:
        if not route.is_stream:
            _check_example(find_call(route, AsyncMemory))


def _check_example(call: Call) -> None:
    shown = example(call)
    assert None not in shown.values(), call.route.call
    body = json.dumps(
        {each.name: shown[each.name] for each in call.parameters if _is_shown_in_body(each, shown)}
    )
    path = {each.name: "x" for each in call.parameters if each.location == "path"}
    query = [
        (each.name, text if isinstance(text, str) else json.dumps(text))
        for each in call.parameters
        if each.location == "query" and each.name in shown
        for text in (shown[each.name] if each.is_list else [shown[each.name]])
    ]
    assert set(call.arguments(path, query, body.encode())) >= set(shown), call.route.call


def _is_shown_in_body(parameter: Any, shown: dict[str, Any]) -> bool:
    return parameter.location == "body" and parameter.name in shown


def _shape(value: Any) -> Any:
    """The types in a value: 1, 1.0 and True are equal, but of different types."""
    if isinstance(value, dict):
        return {key: _shape(each) for key, each in value.items()}
    return [_shape(each) for each in value] if isinstance(value, list) else type(value)
