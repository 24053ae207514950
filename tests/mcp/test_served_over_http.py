"""MCP under `mnemic serve`: its keys, and `mnemic mcp` as a bridge to such a server."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from mnemic.mcp.http import build_http_app
from mnemic.server.app import ServerApp, mount_mcp
from tests.mcp.conftest import called, refused
from tests.mcp.test_http import BODY, HEADERS
from tests.mcp.test_permissions import EXAMPLES
from tests.mcp.test_stdio import process
from tests.prepared_folder import copy_prepared
from tests.server.running import TLS, RunningServer, running_server
from tests.warm_start.starting import WarmStart

BERLIN = "Alice moved to Berlin."


def with_mcp(server_app: ServerApp) -> None:
    mount_mcp(server_app.app, build_http_app(server_app.authenticator.resolve))


@pytest.fixture(scope="module")
def server(memory_dir: Path) -> Iterator[RunningServer]:
    copy_prepared(memory_dir / "mcp-served")
    with running_server(memory_dir / "mcp-served", prepare=with_mcp) as server:
        yield server


@pytest.fixture
def tenant() -> str:
    return f"tenant {uuid4()}"


@asynccontextmanager
async def connected(server: RunningServer, key: str, query: str = "") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, verify=TLS) as http_client:
        transport = streamable_http_client(f"{server.url}/mcp{query}", http_client=http_client)
        async with Client(transport) as client:
            yield client


async def test_a_key_opens_the_memory_of_its_owner(server: RunningServer, tenant: str) -> None:
    writing = server.create_key(tenant, "write", owner="alice").key
    reading = server.create_key(tenant, "read", owner="alice").key
    other = server.create_key(tenant, "write", owner="bob").key
    foreign = server.create_key(f"{tenant} 2", "write", owner="alice").key
    async with connected(server, writing) as client:
        stored = await called(client, "retain", content=BERLIN)
    async with connected(server, reading) as client:
        found = await called(client, "recall", query="Where did Alice move?")
        assert [hit["memory_id"] for hit in found["memories"]] == [stored["memory_id"]]
        assert "may only read" in await refused(client, "retain", content="x")
        assert "may only read" in await refused(client, "forget", memory_id=stored["memory_id"])
    for key in (other, foreign):
        async with connected(server, key) as client:
            assert (await called(client, "recall", query="Where did Alice move?"))["refused"]
            assert "There is no memory" in await refused(client, "forget", memory_id=stored["memory_id"])


async def test_a_key_without_an_owner_names_one_in_each_call(server: RunningServer, tenant: str) -> None:
    key = server.create_key(tenant, "write").key
    async with connected(server, key, "?compat=chatgpt") as client:
        await called(client, "retain", content=BERLIN, owner="alice")
        assert (
            len((await called(client, "search", query="Where did Alice move?", owner="alice"))["results"])
            == 1
        )
        assert "owner must have" in await refused(client, "recall", query="Berlin")


def post(server: RunningServer, key: str) -> httpx.Response:
    return httpx.post(f"{server.url}/mcp", json=BODY, headers=HEADERS | {"Authorization": f"Bearer {key}"})


def test_a_revoked_key_is_refused_at_once(server: RunningServer, tenant: str) -> None:
    made = server.create_key(tenant, "write", owner="alice")
    assert post(server, made.key).status_code == 200
    server.run(server.memory(tenant).keys.revoke(made.key_id))
    assert post(server, made.key).status_code == 401
    assert post(server, "mn_" + "x" * 43).status_code == 401


async def test_the_command_connects_to_a_server_by_its_url(
    server: RunningServer, tenant: str, warm_start: WarmStart
) -> None:
    key = server.create_key(tenant, "write", owner="alice").key
    options = ["--owner", "alice", "--url", server.url, "--compat", "reference", "--compat", "chatgpt"]
    async with process(warm_start.mnemic, *options, env={"MNEMIC_API_KEY": key}) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == list(EXAMPLES)
        stored = await called(client, "retain", content=BERLIN)
        assert not (await called(client, "query_archive", question="Where did Alice move?"))["refused"]
        entities = [
            {"name": name, "entityType": "Person", "observations": ["Likes tea"]} for name in ("Alice", "Bob")
        ]
        relations = [{"from": "Alice", "to": "Bob", "relationType": "knows"}]
        await called(client, "create_entities", entities=entities)
        await called(client, "create_relations", relations=relations)
        graph = await called(client, "read_graph")
        assert (len(graph["entities"]), graph["relations"]) == (2, relations)
        assert (await called(client, "get_entity", name="Alice"))["entities"][0]["mentions"]
        await called(client, "delete_relations", relations=relations)
        await called(client, "delete_entities", entityNames=["Alice", "Bob"])
        assert await called(client, "read_graph") == {"entities": [], "relations": []}
        assert (await called(client, "fetch", id=stored["memory_id"]))["text"] == BERLIN
        for page in (await client.list_resources()).resources:
            assert (await client.read_resource(page.uri)).contents
        await called(client, "forget", memory_id=stored["memory_id"])
