"""The OpenAPI document, and requests made up from it: no answer is outside of it, and none is a 500."""

import json
import os
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mnemic.sdk.http.surface import SURFACE
from tests.server.running import RunningServer

EXAMPLES = 100 if os.environ.get("SLOW_TESTS") else 2
# Its answer has no end; tests/server/test_stream.py looks at it.
ENDLESS = "events.subscribe"


@schemathesis.serializer("application/x-ndjson")
def as_lines(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """A batch as it is sent."""
    items = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)


@pytest.fixture(scope="module")
def document(server: RunningServer) -> dict[str, Any]:
    with server.client() as client:
        found: dict[str, Any] = client.get("/openapi.json").json()
    return found


@pytest.fixture(scope="module")
def schema(document: dict[str, Any]) -> schemathesis.BaseSchema:
    return schemathesis.openapi.from_dict(document)


@pytest.fixture(scope="module")
def session(server: RunningServer) -> Iterator[requests.Session]:
    """An admin of a tenant of its own, for alice where a request names nobody."""
    with requests.Session() as session:
        key = server.create_key(f"tenant {uuid4()}", "admin").key
        session.headers.update({"Authorization": f"Bearer {key}", "Mnemic-Owner": "alice"})
        yield session


def test_the_score_and_the_confidence_of_a_recall_are_explained(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert "`score`, from 0 to 1, orders the hits" in schemas["Hit"]["description"]
    assert "`confidence` is the probability, from 0 to 1, that" in schemas["Recalled"]["description"]
    assert schemas["Recalled"]["properties"]["outcome"]["enum"] == ["found", "weak", "refused"]
    described = document["paths"]["/v1/recall"]["post"]["description"]
    assert "`score` from 0 to 1" in described
    assert "`confidence` of the result is the probability" in described


# The server runs in another thread and uses `random`, too, which hypothesis takes for the strategy.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_answers_are_as_the_document_says(
    mode: schemathesis.GenerationMode,
    schema: schemathesis.BaseSchema,
    session: requests.Session,
    server: RunningServer,
    subtests: pytest.Subtests,
) -> None:
    for route in SURFACE:
        if route.call != ENDLESS:
            with subtests.test(f"{route.method} {route.path}"):
                check_answers(schema[route.path][route.method], mode, session, server)


def check_answers(
    operation: schemathesis.schemas.APIOperation[Any, Any, Any, Any],
    mode: schemathesis.GenerationMode,
    session: requests.Session,
    server: RunningServer,
) -> None:
    """Send requests that were made up for one route."""
    checks = [status_code_conformance, content_type_conformance, response_schema_conformance]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def answers(case: schemathesis.Case[Any]) -> None:
        answer = case.call(base_url=server.url, session=session)
        assert answer.status_code < 500, answer.text
        case.validate_response(answer, checks=checks)

    answers()
