"""Fixtures: one server for all tests; each test has its own tenant and keys."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from mnemic.types.key import Role
from tests.running_folder import running
from tests.server.running import RunningServer, running_server

OpenClient = Callable[..., httpx.Client]


@pytest.fixture(scope="session")
def server_folder(memory_dir: Path) -> Iterator[Path]:
    """A data folder whose PostgreSQL runs all the time."""
    yield from running(memory_dir / "served")


@pytest.fixture(scope="session")
def server(server_folder: Path) -> Iterator[RunningServer]:
    """A server with the default limits."""
    with running_server(server_folder) as server:
        yield server


@pytest.fixture
def tenant() -> str:
    return f"tenant {uuid4()}"


@pytest.fixture
def client_as(server: RunningServer, tenant: str) -> Iterator[OpenClient]:
    """Opens clients that carry a new key of the test's tenant."""
    opened: list[httpx.Client] = []

    def open_client(role: Role, **options: Any) -> httpx.Client:
        client = server.client(server.create_key(tenant, role, **options).key)
        opened.append(client)
        return client

    yield open_client
    for client in opened:
        client.close()


@pytest.fixture
def stranger(server: RunningServer) -> Iterator[httpx.Client]:
    """A client without a key."""
    with server.client() as client:
        yield client


@pytest.fixture
def writer(client_as: OpenClient) -> httpx.Client:
    """A client that may write for every owner of the tenant."""
    return client_as("write")


def retained(client: httpx.Client, content: str, **fields: Any) -> str:
    """Retain a text for alice, unless another owner is named; returns its id."""
    answer = client.post("/v1/memories", json={"content": content, "owner": "alice", **fields})
    assert answer.status_code == 200, answer.text
    memory_id: str = answer.json()["stored"][0]["memory_id"]
    return memory_id
