"""Recall over HTTP leaves out fields that are null, unless `nulls=true` asks for them."""

import json
from typing import Any

import httpx
import pytest

from tests.server.conftest import retained
from tests.server.running import RunningServer

METADATA = {"note": None, "inner": {"also": None}}


def nulls_in(value: Any) -> int:
    """How many nulls an answer holds outside `metadata`, which is the caller's own JSON."""
    if isinstance(value, dict):
        return sum(nulls_in(each) for name, each in value.items() if name != "metadata")
    return sum(map(nulls_in, value)) if isinstance(value, list) else int(value is None)


def recalled(client: httpx.Client, query: str = "", **fields: Any) -> Any:
    answer = client.post(f"/v1/recall{query}", json={"query": "green tea", "owner": "alice", **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def reader(writer: httpx.Client) -> httpx.Client:
    retained(writer, "Tea is green.", metadata=METADATA)
    return writer


def test_recall_leaves_out_null_fields(reader: httpx.Client) -> None:
    found = recalled(reader, explain=True)
    (hit,) = found["hits"]
    assert nulls_in(found) == 0
    assert not {"reason"} & found.keys()
    assert not {"conversation", "superseded_by", "deleted_at"} & hit["memory"].keys()
    assert hit["memory"]["content"] == "Tea is green."


def test_nulls_in_metadata_stay(reader: httpx.Client) -> None:
    assert recalled(reader)["hits"][0]["memory"]["metadata"] == METADATA


def test_nulls_true_keeps_every_field(reader: httpx.Client) -> None:
    found = recalled(reader, "?nulls=true")
    memory = found["hits"][0]["memory"]
    assert (found["reason"], memory["conversation"], memory["deleted_at"]) == (None, None, None)
    assert recalled(reader, "?nulls=false")["hits"][0]["memory"].keys() < memory.keys()


def test_nulls_must_be_true_or_false(reader: httpx.Client) -> None:
    answer = reader.post("/v1/recall?nulls=yes", json={"query": "tea", "owner": "alice"})
    assert (answer.status_code, answer.json()["detail"]) == (422, "nulls must be true or false.")


def test_only_recall_takes_the_parameter(reader: httpx.Client) -> None:
    answer = reader.get("/v1/memories?nulls=true&owner=alice")
    assert (answer.status_code, answer.json()["detail"].partition(".")[0]) == (
        422,
        "There is no parameter 'nulls'",
    )


def test_the_document_says_so(server: RunningServer) -> None:
    with server.client() as client:
        document = client.get("/openapi.json").json()
    names = [each["name"] for each in document["paths"]["/v1/recall"]["post"]["parameters"]]
    assert "nulls" in names
    for name in ("Recalled", "Hit", "Explanation", "MemoryRecord"):
        schema = document["components"]["schemas"][name]
        nullable = {key for key, each in schema["properties"].items() if '"null"' in json.dumps(each)}
        assert not nullable & set(schema["required"]), name
        assert nullable, name
