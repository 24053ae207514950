"""The MCP server over streamable HTTP, with the official client and with requests that it would not send."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from mnemic.errors import DatabaseUnavailableError, NotFoundError
from mnemic.mcp.http import REQUEST_MAX_BYTES, build_http_app
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.key import Role
from tests.mcp.conftest import called, refused
from tests.mcp.test_permissions import EXAMPLES
from tests.server.running import TLS
from tests.waiting import wait_for

SECRET_ERROR = "key 42 of tenant acme was revoked"
BODY = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@dataclass
class Keys:
    """The known tokens, in place of the authentication of a server."""

    known: dict[str, tuple[AsyncMemory, Role]] = field(default_factory=dict)
    is_down: bool = False

    async def resolve(self, token: str) -> tuple[AsyncMemory, Role]:
        if self.is_down:
            raise DatabaseUnavailableError("no connection to postgresql://secret@host")
        if token not in self.known:
            raise NotFoundError(SECRET_ERROR)
        return self.known[token]


@dataclass(frozen=True)
class HttpServer:
    """A server on its own port."""

    url: str
    keys: Keys

    @asynccontextmanager
    async def client(self, token: str, query: str = "", **options: Any) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, verify=TLS) as http_client:
            transport = streamable_http_client(self.url + query, http_client=http_client)
            async with Client(transport, **options) as client:
                yield client

    async def request(self, method: str = "POST", query: str = "", **options: Any) -> httpx.Response:
        """A request that carries a good token, unless `headers` say otherwise."""
        headers = HEADERS | {"authorization": "Bearer writing"} | options.pop("headers", {})
        sent = {name: value for name, value in headers.items() if value is not None}
        async with httpx.AsyncClient(verify=TLS) as client:
            if method == "POST" and "content" not in options:
                options["json"] = BODY
            return await client.request(method, self.url + query, headers=sent, **options)


@pytest.fixture
async def served(memory: AsyncMemory) -> AsyncIterator[HttpServer]:
    keys = Keys({"writing": (memory, "write"), "reading": (memory, "read")})
    keys.known["bob"] = (memory.scope(owner="bob"), "write")
    async with listening(keys) as url:
        yield HttpServer(url, keys)


@asynccontextmanager
async def listening(keys: Keys, **options: Any) -> AsyncIterator[str]:
    config = uvicorn.Config(build_http_app(keys.resolve, **options), port=0, log_level="warning")
    server = uvicorn.Server(config)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve())
        await wait_for(lambda: server.started, what="the server")
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.should_exit = True


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_and_resource_is_there_for_either_protocol(served: HttpServer, mode: str) -> None:
    async with served.client("writing", "?compat=reference&compat=chatgpt", mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == list(EXAMPLES)
        stored = await called(client, "retain", content="Alice moved to Berlin.")
        found = await called(client, "recall", query="Where did Alice move?")
        assert [hit["memory_id"] for hit in found["memories"]] == [stored["memory_id"]]
        for tool in tools:
            result = await client.call_tool(tool.name, EXAMPLES[tool.name])
            assert result.content
        for page in (await client.list_resources()).resources:
            assert (await client.read_resource(page.uri)).contents
        assert len((await client.list_resource_templates()).resource_templates) == 3


async def test_each_token_has_its_own_owner(served: HttpServer) -> None:
    async with served.client("writing") as alice, served.client("bob") as bob:
        await called(alice, "retain", content="Alice moved to Berlin.")
        assert (await called(bob, "recall", query="Where did Alice move?"))["refused"]
        assert "bound to one owner" in await refused(bob, "recall", query="Berlin", owner="alice")
        assert not (await called(alice, "recall", query="Where did Alice move?"))["refused"]


async def test_a_reading_token_cannot_write(served: HttpServer, memory: AsyncMemory) -> None:
    async with served.client("reading", "?compat=reference") as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == [
            "recall",
            "query_archive",
            "get_entity",
            "why",
            "get_goals",
            "find_strategies",
            "get_working",
            "read_graph",
            "search_nodes",
            "open_nodes",
        ]
        assert "may only read" in await refused(client, "retain", content="x")
        assert "may only read" in await refused(client, "create_entities", **EXAMPLES["create_entities"])
    assert await memory.memories.list() == []
    assert await memory.entities.list() == []


async def test_a_revoked_token_is_refused(served: HttpServer) -> None:
    assert (await served.request()).status_code == 200
    del served.keys.known["writing"]
    assert (await served.request()).status_code == 401


@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Basic d3JpdGluZw==", "writing", "Bearer wrong", f"Bearer {'x' * 600}"],
)
async def test_without_a_valid_token_every_request_is_401(
    served: HttpServer, authorization: str | None
) -> None:
    response = await served.request(headers={"authorization": authorization})
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.headers["content-type"] == "application/problem+json"
    assert SECRET_ERROR not in response.text


async def test_two_tokens_are_refused(served: HttpServer) -> None:
    twice = [*HEADERS.items(), ("authorization", "Bearer writing"), ("authorization", "Bearer bob")]
    async with httpx.AsyncClient(verify=TLS) as client:
        assert (await client.post(served.url, json=BODY, headers=twice)).status_code == 401


async def test_an_unavailable_memory_is_503_without_details(served: HttpServer) -> None:
    served.keys.is_down = True
    response = await served.request()
    assert (response.status_code, response.headers["retry-after"]) == (503, "5")
    assert "secret" not in response.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "localhost.evil.example:80"}, 421),
        ({"host": "localhost:1234"}, 200),
        ({"host": "localhost"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ],
)
async def test_requests_from_foreign_web_pages_are_refused(
    served: HttpServer, headers: dict[str, str], status: int
) -> None:
    assert (await served.request(headers=headers)).status_code == status


async def test_other_hosts_can_be_allowed(served: HttpServer) -> None:
    async with listening(served.keys, allowed_hosts=["memory.example"]) as url:
        here = HttpServer(url, served.keys)
        assert (await here.request(headers={"host": "memory.example"})).status_code == 200
        assert (await here.request()).status_code == 421
    async with listening(served.keys, allowed_hosts=None) as url:
        anywhere = HttpServer(url, served.keys)
        assert (await anywhere.request(headers={"host": "memory.example"})).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_other_methods_are_405(served: HttpServer, method: str) -> None:
    response = await served.request(method)
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


async def test_an_unknown_set_of_tools_is_a_bad_request(served: HttpServer) -> None:
    response = await served.request(query="?compat=gemini")
    assert response.status_code == 400
    assert "any of reference, chatgpt" in response.json()["detail"]


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"{", 400), (b"\xff\xfe", 400), (b"[]", 400), (b"x" * (REQUEST_MAX_BYTES + 1), 413)],
    ids=["half", "no UTF-8", "a list", "too large"],
)
async def test_invalid_bodies_are_refused(served: HttpServer, content: bytes, status: int) -> None:
    assert (await served.request(content=content)).status_code == status


async def test_neither_token_nor_content_is_logged(
    served: HttpServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="mnemic")
    caplog.set_level(logging.INFO, logger="mcp")
    async with served.client("writing") as client:
        await called(client, "retain", content="a confidential elephant")
        await called(client, "recall", query="confidential elephant")
    assert "elephant" not in caplog.text
    assert "writing" not in caplog.text
