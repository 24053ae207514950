"""Admin calls that change something are audited: by which key, and how they ended."""

from typing import Any

import httpx
import pytest

from mnemic.types.traces import AuditRecord
from tests.server.conftest import OpenClient, retained
from tests.server.running import RunningServer


@pytest.fixture
def admin(client_as: OpenClient) -> httpx.Client:
    return client_as("admin")


def calls(server: RunningServer, tenant: str) -> list[AuditRecord]:
    """What was audited of admin calls, oldest first."""
    return list(server.run(server.memory(tenant).audit.list(action="admin_call")))[::-1]


def test_a_call_is_audited_with_its_key_before_it_is_answered(
    server: RunningServer, tenant: str, admin: httpx.Client
) -> None:
    answer = admin.post("/v1/keys", json={"role": "read"}, headers={"X-Request-Id": "audited-1"})
    assert answer.status_code == 200
    intent, outcome = calls(server, tenant)
    (own,) = [key for key in admin.get("/v1/keys").json() if key["role"] == "admin"]
    assert (intent.target, intent.phase, intent.owner) == ("POST /v1/keys", "intent", None)
    assert intent.detail == {"key_id": own["key_id"], "request_id": "audited-1"}
    assert (outcome.phase, outcome.intent_id) == ("succeeded", intent.audit_id)


@pytest.mark.parametrize("body", [{"role": "root"}, {"role": "admin", "owner": "bob"}, {}])
def test_a_call_that_fails_is_audited_too(
    server: RunningServer, tenant: str, admin: httpx.Client, body: dict[str, Any]
) -> None:
    assert admin.post("/v1/keys", json=body).status_code == 422
    _, outcome = calls(server, tenant)
    assert (outcome.phase, outcome.detail["message"]) == (
        "failed",
        "The answer was 422 Unprocessable Entity.",
    )


def test_a_call_that_breaks_is_audited_too(
    server: RunningServer, tenant: str, admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: Any, **options: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("mnemic.govern.keys.create", fail)
    assert admin.post("/v1/keys", json={"role": "read"}).status_code == 500
    _, outcome = calls(server, tenant)
    assert (outcome.phase, outcome.detail) == ("failed", {"error": "RuntimeError"})


def test_who_may_not_make_a_call_leaves_no_trace_and_reading_neither(
    server: RunningServer, tenant: str, admin: httpx.Client, writer: httpx.Client
) -> None:
    assert writer.post("/v1/keys", json={"role": "read"}).status_code == 403
    assert admin.get("/v1/stats").status_code == 200
    assert calls(server, tenant) == []


def test_the_audit_of_an_erasure_does_not_name_the_owner(
    server: RunningServer, tenant: str, admin: httpx.Client
) -> None:
    retained(admin, "Zebedee likes tea.", owner="zebedee")
    assert admin.delete("/v1/owners/zebedee").status_code == 200
    assert [act.target for act in calls(server, tenant)] == ["DELETE /v1/owners/{owner}"] * 2
    assert "zebedee" not in str(server.run(server.memory(tenant).audit.list()))
