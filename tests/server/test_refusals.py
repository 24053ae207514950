"""A limit on invalid requests of a key and of a tenant, which is checked before anything else is done."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from mnemic.config import Settings
from mnemic.db.tenancy import Tenant
from mnemic.errors import TooManyRequestsError
from mnemic.govern.keys import AuthenticatedKey
from mnemic.server.limits import limits_of
from mnemic.server.refusals import Refusals
from mnemic.types.key import ApiKey
from tests.server.running import RunningServer, running_server
from tests.server.test_authentication import is_problem

JSON = {"Content-Type": "application/json"}
MISSING = "/v1/memories/00000000-0000-0000-0000-000000000000"


@pytest.fixture(scope="module")
def strict(server_folder: Path) -> Iterator[RunningServer]:
    """A server that takes one invalid request of a key in a minute."""
    with running_server(server_folder, invalid_rate_per_minute=1, tenant_invalid_rate_per_minute=0) as server:
        yield server


@pytest.fixture
def writer(strict: RunningServer, tenant: str) -> Iterator[httpx.Client]:
    with strict.client(strict.create_key(tenant, "write").key) as client:
        yield client


@pytest.mark.parametrize(
    ("headers", "content"),
    [
        (JSON, b'{"content": ""}'),
        (JSON, b"[" * 100_000),
        ({"Content-Type": "text/plain"}, b"x"),
        (JSON | {"Content-Encoding": "gzip"}, b"no gzip"),
        (JSON, b" " * (11 << 20)),
    ],
)
def test_each_way_to_be_refused_counts(writer: httpx.Client, headers: dict[str, str], content: bytes) -> None:
    first, second = (writer.post("/v1/memories", headers=headers, content=content) for _ in range(2))
    assert first.status_code in (400, 413, 415, 422)
    assert is_problem(second, 429, "TooManyRequestsError")


def test_a_key_with_too_many_invalid_requests_waits_with_its_valid_ones(
    strict: RunningServer, tenant: str, writer: httpx.Client
) -> None:
    assert writer.post("/v1/memories", json={"content": ""}).status_code == 422
    answer = writer.post("/v1/recall", json={"query": "?", "owner": "alice"})
    assert is_problem(answer, 429, "TooManyRequestsError")
    assert int(answer.headers["Retry-After"]) >= 1
    assert "invalid requests" in answer.json()["detail"]
    with strict.client(strict.create_key(tenant, "write").key) as other:
        assert other.get("/v1/whoami").status_code == 200


def test_a_key_that_has_to_wait_is_not_looked_up(
    strict: RunningServer, writer: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert writer.post("/v1/memories", json={"content": ""}).status_code == 422

    async def find(token: str) -> None:
        raise AssertionError("looked up")

    monkeypatch.setattr(strict.server_app.authenticator, "find", find)
    assert writer.get("/v1/whoami").status_code == 429


def test_other_errors_do_not_count(writer: httpx.Client) -> None:
    for _ in range(2):
        assert writer.get(MISSING, params={"owner": "alice"}).status_code == 404
        assert writer.get("/v1/keys").status_code == 403
    assert writer.get("/v1/whoami").status_code == 200


def test_requests_that_succeed_make_up_for_invalid_ones() -> None:
    limits = replace(limits_of(Settings()), invalid_rate_per_minute=1, tenant_invalid_rate_per_minute=1)
    refusals, found = Refusals(limits), _key_of(uuid4())
    for _ in range(3):
        refusals.count(found, 422)
        with pytest.raises(TooManyRequestsError):
            refusals.check(found)
        refusals.count(found, 200)
        refusals.check(found)


def test_the_keys_of_a_tenant_share_a_limit() -> None:
    limits = replace(limits_of(Settings()), invalid_rate_per_minute=0, tenant_invalid_rate_per_minute=1)
    refusals, tenant_id = Refusals(limits), uuid4()
    refusals.count(_key_of(tenant_id), 422)
    with pytest.raises(TooManyRequestsError, match="The tenant of this API key may send invalid requests"):
        refusals.check(_key_of(tenant_id))
    refusals.check(_key_of(uuid4()))


def _key_of(tenant_id: UUID) -> AuthenticatedKey:
    key = ApiKey(uuid4(), None, "read", None, "mn_aaaaaa", datetime.now(UTC), None, None, None)
    return AuthenticatedKey(Tenant(tenant_id, "acme"), key)
