"""An owner's export over HTTP: the same rows as in a file, for admins only, and all of it or nothing."""

import json
from pathlib import Path

import pytest

from mnemic import AsyncMemory
from mnemic.errors import MnemicError, NotFoundError, ServerError
from mnemic.sdk.http.connection import ROW_COUNTS_HEADER
from tests.sdk.scripted_http import Response, scripted_server
from tests.server.conftest import OpenClient
from tests.server.running import RunningServer

HEAD = b'{"format": "mnemic-export", "version": 1, "owner": "bob"}\n'
ROW = b'{"table": "state.memories", "row": {}}\n'


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_the_response_has_the_rows_of_the_file(
    server: RunningServer, tenant: str, client_as: OpenClient, tmp_path: Path
) -> None:
    memory = server.memory(tenant)
    server.run(memory.retain([f"Memory {number} with a word" for number in range(200)], owner="bob"))
    with client_as("admin") as client:
        answer = client.get("/v1/export", params={"owner": "bob"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    counts = json.loads(answer.headers[ROW_COUNTS_HEADER])
    server.run(memory.admin.export(tmp_path / "file", owner="bob"))

    def rows(text: str) -> list[str]:
        # The second export also has the audit records of the first one.
        return [line for line in text.splitlines() if "traces.audit_log" not in line]

    assert rows(answer.text) == rows((tmp_path / "file").read_text("utf-8"))
    assert counts["state.memories"] == 200
    assert len(answer.text.splitlines()) == 1 + sum(counts.values())
    succeeded = [each for each in server.run(memory.audit.list(owner="bob")) if each.phase == "succeeded"]
    assert succeeded[-1].target == "download"
    assert succeeded[-1].detail["rows"] == counts


def test_only_admins_export(server: RunningServer, tenant: str, client_as: OpenClient) -> None:
    server.run(server.memory(tenant).retain("Tea", owner="bob"))
    for role, owner in (("read", None), ("write", None), ("write", "bob")):
        with client_as(role, owner=owner) as client:
            assert client.get("/v1/export", params={"owner": "bob"}).status_code == 403
    with client_as("admin") as client:
        assert client.get("/v1/export").status_code == 422, "it needs an owner"
    assert server.run(server.memory(tenant).audit.list(action="export_owner")) == []


@pytest.mark.parametrize(
    ("response", "error"),
    [
        (Response(body=HEAD + ROW, headers={ROW_COUNTS_HEADER: '{"state.memories": 2}'}), ServerError),
        (Response(body=HEAD + ROW), ServerError),
        (Response(body=HEAD, headers={ROW_COUNTS_HEADER: '{"a": 0}'}, is_stream=True), MnemicError),
    ],
    ids=["rows are missing", "no counts", "disconnected"],
)
async def test_an_incomplete_export_leaves_no_file(
    tmp_path: Path, response: Response, error: type[MnemicError]
) -> None:
    async with (
        scripted_server(response) as server,
        AsyncMemory(server.url, api_key="mn_test", owner="bob") as memory,
    ):
        with pytest.raises(error):
            await memory.admin.export(tmp_path / "file")
    assert names_in(tmp_path) == []


async def test_a_path_that_cannot_be_written_sends_no_request(tmp_path: Path) -> None:
    async with scripted_server() as server, AsyncMemory(server.url, api_key="mn_test") as memory:
        with pytest.raises(NotFoundError, match="cannot be written"):
            await memory.admin.export(tmp_path / "missing" / "file", owner="bob")
    assert server.requests == []
