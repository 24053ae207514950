"""The errors that a newcomer meets name headers and JSON fields, and never speak of Python."""

from typing import Any

import httpx
import pytest

from mnemic import AsyncMemory
from mnemic.errors import OwnerRequiredError
from tests.server.conftest import retained
from tests.server.running import RunningServer

PYTHON_WORDS = (
    "owner=",
    "scope(",
    "memory.",
    "None",
    "NoneType",
    ".str",
    ".int",
    "list[",
    "dict",
    "Input should",
)
NO_OWNER = (
    "No owner: send the header Mnemic-Owner, or `owner` as a field of the JSON body (in the query where the "
    "request has no JSON body). Every memory belongs to an owner."
)
ALICE = {"owner": "alice"}

MISTAKES: list[tuple[str, str, Any, str]] = [
    ("POST", "/v1/memories", {"content": "x"}, NO_OWNER),
    ("POST", "/v1/recall", {"query": "x"}, NO_OWNER),
    ("GET", "/v1/memories", None, NO_OWNER),
    ("POST", "/v1/memories", ALICE, "content is required."),
    ("POST", "/v1/memories", {"content": 5, **ALICE}, "content must be a string or an object or an array."),
    (
        "POST",
        "/v1/memories",
        {"content": ["tea", 3], **ALICE},
        "content.1 must be a string or an object.",
    ),
    ("POST", "/v1/memories", {"content": "x", "tags": "a", **ALICE}, "tags must be an array."),
    ("POST", "/v1/memories", {"content": "x", "tags": ["a", 1], **ALICE}, "tags.1 must be a string."),
    ("POST", "/v1/memories", {"content": "x", "confidence": "high", **ALICE}, "confidence must be a number."),
    ("POST", "/v1/memories", {"content": "x", "metadata": [], **ALICE}, "metadata must be an object."),
    ("POST", "/v1/memories", [1], "The body must be an object."),
    ("POST", "/v1/recall", {"query": "x", "limit": "5", **ALICE}, "limit must be a whole number."),
    ("POST", "/v1/recall", {"query": "x", "explain": 1, **ALICE}, "explain must be true or false."),
    (
        "POST",
        "/v1/journal",
        {"act": "x", **ALICE},
        "'act' is not a field of this request; the fields are evaluated, acted, forward, extra, at, owner, "
        "channel.",
    ),
    ("GET", "/v1/memories?owner=alice&limit=x", None, "limit must be a whole number."),
    (
        "GET",
        "/v1/memories/me?owner=alice",
        None,
        "memory_id must be an id as Mnemic gives them (a UUID), not 'me'.",
    ),
    ("DELETE", "/v1/entity-relations?from_entity=x", None, "to_entity is required."),
    ("GET", "/v1/nothing", None, "There is no such path. /docs lists all of them."),
]


def test_mistakes_are_told_in_the_words_of_http(writer: httpx.Client) -> None:
    answers = {
        (method, path, str(body)): writer.request(method, path, json=body).json()["detail"]
        for method, path, body, _ in MISTAKES
    }
    assert answers == {(method, path, str(body)): detail for method, path, body, detail in MISTAKES}
    assert [word for word in PYTHON_WORDS for detail in answers.values() if word in detail] == []


def test_a_body_that_is_no_json_is_said_to_be_so(writer: httpx.Client) -> None:
    answer = writer.post("/v1/recall", content=b'{"query":', headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("The body is not valid JSON (EOF while parsing")


def test_a_parameter_of_the_stream_is_named_without_its_place(writer: httpx.Client) -> None:
    problem = writer.get("/v1/events/stream?types=nothing").json()
    assert [error["field"] for error in problem["errors"]] == ["types.0"]


def test_either_way_to_name_the_owner_works(writer: httpx.Client) -> None:
    retained(writer, "Tea is green.")
    by_field = writer.post("/v1/recall", json={"query": "tea", **ALICE})
    by_header = writer.post("/v1/recall", json={"query": "tea"}, headers={"Mnemic-Owner": "alice"})
    assert by_field.json()["hits"][0]["memory"] == by_header.json()["hits"][0]["memory"]


async def test_the_remote_sdk_speaks_of_python(server: RunningServer, tenant: str) -> None:
    key = server.create_key(tenant, "read").key
    async with AsyncMemory(server.url, api_key=key) as memory:
        with pytest.raises(OwnerRequiredError, match=r"pass owner=…"):
            await memory.recall("tea")
