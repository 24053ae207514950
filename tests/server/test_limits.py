"""The parts that bound what clients use: quotas, the table of connections, repeated log messages, paths."""

import asyncio
import logging
from pathlib import Path
from uuid import uuid4

import pytest

from mnemic.db.tenancy import Tenant
from mnemic.errors import TooManyRequestsError
from mnemic.govern.keys import AuthenticatedKey
from mnemic.server.connections import ConnectionTable
from mnemic.server.logs import MINUTE_S, REPEATED_MAX, RepetitionFilter
from mnemic.server.paths import normalized
from mnemic.server.quota import Quota, QuotaLimits
from tests.attacks.http_server import MCP_HEADERS, attacked_server, new_key
from tests.server.running import RunningServer
from tests.server.test_authentication import is_problem
from tests.server.test_rate_limit import Clock


def key_of(server: RunningServer, tenant: str) -> AuthenticatedKey:
    made = server.create_key(tenant, "read")
    return AuthenticatedKey(Tenant(server.memory(tenant).tenant.id, tenant), made)


def test_a_quota_is_shared_by_server_tenant_and_key(server: RunningServer) -> None:
    one, other = f"tenant {uuid4()}", f"tenant {uuid4()}"
    first, second, third = key_of(server, one), key_of(server, one), key_of(server, other)
    quota = Quota("things", QuotaLimits(server=4, tenant=3, key=2), retry_after_s=7)
    quota.take(first, 2)
    with pytest.raises(TooManyRequestsError, match=r"This API key has as many things .* 2") as refused:
        quota.take(first)
    assert refused.value.retry_after_s == 7
    quota.take(second)
    with pytest.raises(TooManyRequestsError, match="The tenant of this API key"):
        quota.take(second)
    with quota.held(third), pytest.raises(TooManyRequestsError, match="This server"):
        quota.take(third)
    quota.give_back(first, 2)
    quota.give_back(second)
    assert not quota._used, "nothing is left behind"


class Connection:
    """A connection that records that it was closed."""

    is_closed = False

    def close_idle(self) -> None:
        self.is_closed = True


def test_the_connection_that_was_idle_for_longest_gives_way() -> None:
    table = ConnectionTable(total_max=3, per_address_max=2)
    old, busy, near, new, far = (Connection() for _ in range(5))
    assert table.add(old, "a")
    assert table.add(busy, "a")
    table.mark_busy(busy)
    assert table.add(near, "b")
    assert table.add(new, "a"), "the idle connection of the same address gives way"
    assert (old.is_closed, near.is_closed) == (True, False)
    table.mark_idle(near)
    assert table.add(far, "c"), "the table is full"
    assert near.is_closed
    for each in (new, far):
        table.mark_busy(each)
    assert not table.add(Connection(), "d"), "all are busy"
    table.remove(busy)
    assert table.add(Connection(), "d")


def test_messages_of_libraries_are_repeated_a_few_times_a_minute() -> None:
    clock = Clock()
    repetitions = RepetitionFilter(clock)

    def is_logged(name: str, line: int = 1) -> bool:
        return repetitions.filter(logging.LogRecord(name, logging.WARNING, "code.py", line, "x", None, None))

    assert [is_logged("uvicorn.error") for _ in range(REPEATED_MAX + 5)].count(True) == REPEATED_MAX
    assert is_logged("uvicorn.error", line=2), "another message"
    assert all(is_logged("mnemic.server") for _ in range(100)), "our own are not bounded here"
    clock.now_s += MINUTE_S
    assert is_logged("uvicorn.error")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("/%6dcp", "/mcp"),
        ("/v1/documents/a%2fb", "/v1/documents/a%2Fb"),
        ("/v1/documents/%2E%2e", "/v1/documents/.."),
        ("/%256dcp", "/%256dcp"),
        ("/%zz%4", "/%zz%4"),
        ("/v1/state/%C3%A9%00", "/v1/state/%C3%A9%00"),
    ],
)
def test_only_unreserved_characters_are_decoded(sent: str, expected: str) -> None:
    assert normalized(sent) == expected
    assert normalized(expected) == expected


def test_a_tool_of_mcp_has_the_timeout_of_a_request(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*arguments: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("mnemic.mind.bundle.recall_request", never)
    call = {"name": "recall", "arguments": {"query": "tea"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with (
        attacked_server(server_folder, request_timeout_s=3.0) as server,
        server.client(new_key(server, owner="alice").key) as client,
    ):
        answer = client.post("/mcp", json=body, headers=MCP_HEADERS)
        assert is_problem(answer, 504, "QueryTimeoutError")
        assert client.get("/v1/whoami").status_code == 200
