"""Admin calls that change something are audited with the key and the outcome, one act each."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from mnemic.server.auditing import SELF_AUDITED_CALLS
from mnemic.types.traces import AuditRecord
from tests.server.conftest import OpenClient, retained
from tests.server.running import RunningServer


@pytest.fixture
def admin(client_as: OpenClient) -> httpx.Client:
    return client_as("admin")


def acts(server: RunningServer, tenant: str, key_id: str) -> list[AuditRecord]:
    """The audit records of a key, oldest first: intents, each with its outcome."""
    found = list(server.run(server.memory(tenant).audit.list()))[::-1]
    intents = {act.audit_id for act in found if act.detail.get("key_id") == key_id}
    return [act for act in found if act.audit_id in intents or act.intent_id in intents]


def own_id(admin: httpx.Client) -> str:
    """The id of the client's own key."""
    (own,) = [key for key in admin.get("/v1/keys").json() if key["role"] == "admin"]
    key_id: str = own["key_id"]
    return key_id


def test_a_call_is_audited_with_its_key_before_the_response(
    server: RunningServer, tenant: str, admin: httpx.Client
) -> None:
    answer = admin.post("/v1/jobs", json={"type": "t"}, headers={"X-Request-Id": "audited-1"})
    assert answer.status_code == 200
    key_id = own_id(admin)
    intent, outcome = acts(server, tenant, key_id)
    assert (intent.action, intent.target, intent.phase, intent.owner) == (
        "admin_call",
        "POST /v1/jobs",
        "intent",
        None,
    )
    assert intent.detail == {"key_id": key_id, "request_id": "audited-1"}
    assert (outcome.phase, outcome.intent_id) == ("succeeded", intent.audit_id)


def create_key(admin: httpx.Client) -> httpx.Response:
    return admin.post("/v1/keys", json={"role": "read"})


def revoke_key(admin: httpx.Client) -> httpx.Response:
    (reader,) = [key for key in admin.get("/v1/keys").json() if key["role"] == "read"]
    return admin.post(f"/v1/keys/{reader['key_id']}/revoke", json={})


def erase(admin: httpx.Client) -> httpx.Response:
    return admin.delete("/v1/owners/zebedee")


def reembed(admin: httpx.Client) -> httpx.Response:
    return admin.post("/v1/reembed", json={})


def calling(
    method: str, path: str, body: dict[str, str] | None = None
) -> Callable[[httpx.Client], httpx.Response]:
    return lambda admin: admin.request(method, path, json=body)


SELF_AUDITED = {
    "keys.create": (create_key, "create_key"),
    "keys.revoke": (revoke_key, "revoke_key"),
    "admin.erase": (erase, "erase_owner"),
    "admin.reembed": (reembed, "change_model"),
    "groups.create": (calling("POST", "/v1/groups", {"group": "new team"}), "create_group"),
    "groups.delete": (calling("DELETE", "/v1/groups/team"), "delete_group"),
    "groups.add": (calling("PUT", "/v1/groups/team/members/bob", {}), "add_group_member"),
    "groups.remove": (calling("DELETE", "/v1/groups/team/members/bob"), "remove_group_member"),
    "groups.grant": (calling("POST", "/v1/groups/team/grants", {"owner": "handbook"}), "grant_share"),
    "shares.set_policy": (calling("PUT", "/v1/share-policy", {"policy": "accept_all"}), "set_grant_policy"),
    "spend.remove_price": (calling("DELETE", "/v1/model-prices/old"), "remove_model_price"),
    "spend.set_cap": (calling("PUT", "/v1/spend-caps", {"usd": "5"}), "set_spend_cap"),
    "spend.set_price": (
        calling("PUT", "/v1/model-prices/new", {"input_usd": "1", "output_usd": "2"}),
        "set_model_price",
    ),
}


def test_every_call_that_audits_itself_is_tried() -> None:
    assert set(SELF_AUDITED) == SELF_AUDITED_CALLS


@pytest.mark.parametrize(("call", "action"), SELF_AUDITED.values(), ids=SELF_AUDITED)
def test_a_call_that_audits_itself_is_one_record_with_the_key(
    server: RunningServer,
    tenant: str,
    admin: httpx.Client,
    call: Callable[[httpx.Client], httpx.Response],
    action: str,
) -> None:
    server.create_key(tenant, "read")
    server.run(server.memory(tenant).groups.create("team"))
    server.run(server.memory(tenant).spend.set_price("old", input_usd=1, output_usd=2))
    before = len(server.run(server.memory(tenant).audit.list()))
    admin.headers["X-Request-Id"] = "audited-2"
    assert call(admin).is_success
    key_id = own_id(admin)
    intent, outcome = acts(server, tenant, key_id)
    assert (intent.action, outcome.action, outcome.phase) == (action, action, "succeeded")
    assert (intent.detail["key_id"], intent.detail["request_id"]) == (key_id, "audited-2")
    assert len(server.run(server.memory(tenant).audit.list())) == before + 2


@pytest.mark.parametrize("body", [{"type": 5}, {"type": "t", "priority": "high"}, {}])
def test_a_call_that_fails_is_audited_too(
    server: RunningServer, tenant: str, admin: httpx.Client, body: dict[str, Any]
) -> None:
    assert admin.post("/v1/jobs", json=body).status_code == 422
    _, outcome = acts(server, tenant, own_id(admin))
    assert (outcome.phase, outcome.detail["message"]) == (
        "failed",
        "The response was 422 Unprocessable Entity.",
    )


def test_a_call_that_breaks_is_audited_too(
    server: RunningServer, tenant: str, admin: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: Any, **options: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("mnemic.sdk.groups.admin.embed_backlog", fail)
    assert admin.post("/v1/embed-backlog").status_code == 500
    _, outcome = acts(server, tenant, own_id(admin))
    assert (outcome.phase, outcome.detail) == ("failed", {"error": "RuntimeError"})


def test_audit_records_of_a_writer_name_its_key(
    server: RunningServer, tenant: str, writer: httpx.Client
) -> None:
    assert writer.post("/v1/shares", json={"to": "bob", "owner": "alice"}).status_code == 200
    (intent,) = [
        act
        for act in server.run(server.memory(tenant).audit.list(action="grant_share"))
        if act.phase == "intent"
    ]
    (own,) = server.run(server.memory(tenant).keys.list())
    assert (intent.owner, intent.detail["key_id"]) == ("alice", str(own.key_id))


def test_refused_calls_and_reads_are_not_audited(
    server: RunningServer, tenant: str, admin: httpx.Client, writer: httpx.Client
) -> None:
    assert writer.post("/v1/keys", json={"role": "read"}).status_code == 403
    assert admin.get("/v1/stats").status_code == 200
    made = [act.action for act in server.run(server.memory(tenant).audit.list())]
    assert made == ["create_key"] * 4, "the two keys of this test, made behind the server"


def test_the_audit_of_an_erasure_does_not_name_the_owner(
    server: RunningServer, tenant: str, admin: httpx.Client
) -> None:
    retained(admin, "Zebedee likes tea.", owner="zebedee")
    assert admin.delete("/v1/owners/zebedee").status_code == 200
    assert [act.action for act in acts(server, tenant, own_id(admin))] == ["erase_owner"] * 2
    assert "zebedee" not in str(server.run(server.memory(tenant).audit.list()))
