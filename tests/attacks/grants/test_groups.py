"""Attacks on groups: only administrators share with many owners, and changes of members count at once."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mnemic.errors import ForbiddenError
from mnemic.sdk.memory import AsyncMemory
from tests.attacks.grants.readable import readable
from tests.server.running import RunningServer


async def test_a_member_who_leaves_reads_nothing_and_a_new_group_of_the_same_name_revives_nothing(
    memory: AsyncMemory, tenant_memory: AsyncMemory
) -> None:
    await tenant_memory.groups.create("team")
    for member in ("bob", "carol"):
        await tenant_memory.groups.add("team", member)
    await tenant_memory.groups.grant("team", owner="handbook")
    assert len(await readable(memory, "bob")) == len(await readable(memory, "carol")) == 1
    await tenant_memory.groups.remove("team", "bob")
    assert await readable(memory, "bob") == []
    await tenant_memory.groups.delete("team")
    assert await readable(memory, "carol") == []
    await tenant_memory.groups.create("team")
    await tenant_memory.groups.add("team", "carol")
    assert await readable(memory, "carol") == []


async def test_a_view_of_one_owner_manages_no_groups(memory: AsyncMemory) -> None:
    for view in (memory, memory.scope(owner="handbook"), memory.scope(channel="other")):
        for attack in (
            view.groups.create("team"),
            view.groups.delete("team"),
            view.groups.add("team", "bob"),
            view.groups.remove("team", "bob"),
            view.groups.list(),
            view.groups.members("team"),
            view.groups.grant("everyone", owner="mallory"),
            view.shares.set_policy("accept_all"),
        ):
            with pytest.raises(ForbiddenError, match="without an owner"):
                await attack
    assert await memory.shares.policy() == "ask"
    assert await readable(memory, "bob") == []


async def test_an_import_makes_no_member_and_no_active_grant(
    memory: AsyncMemory, tenant_memory: AsyncMemory, tmp_path: Path
) -> None:
    await tenant_memory.groups.create("admins")
    await memory.admin.export(tmp_path / "file", owner="mallory")
    forged: list[tuple[str, dict[str, Any]]] = [
        (
            "state.group_members",
            {"group_name": "admins", "owner": "mallory", "added_at": "2026-01-01T00:00:00Z"},
        ),
        *(
            (
                "state.grants",
                {
                    "grant_id": str(uuid4()),
                    "owner": "mallory",
                    "process": "p",
                    "created_at": "2026-01-01T00:00:00Z",
                    "accepted_at": "2026-01-01T00:00:00Z",
                    **reader,
                },
            )
            for reader in ({"granted_to": "bob"}, {"granted_to_group": "everyone"})
        ),
    ]
    with (tmp_path / "file").open("a") as file:
        for table, row in forged:
            file.write(json.dumps({"table": table, "row": row}) + "\n")
    await memory.admin.import_(tmp_path / "file", embed=False)
    assert await tenant_memory.groups.members("admins") == []
    assert await readable(memory, "bob") == []
    imported = await memory.shares.list(include_ended=True, owner="mallory")
    assert {grant.state for grant in imported} == {"revoked"}


def test_a_key_that_is_bound_to_an_owner_reaches_no_grant_of_others(
    http_server: RunningServer,
    subtests: pytest.Subtests,
) -> None:
    tenant = f"tenant {uuid4()}"
    with (
        http_server.client(http_server.create_key(tenant, "write", owner="mallory").key) as mallory,
        http_server.client(http_server.create_key(tenant, "write", owner="bob").key) as bob,
        http_server.client(http_server.create_key(tenant, "write").key) as writer,
    ):
        grant_id = mallory.post("/v1/shares", json={"to": "bob"}).json()["grant_id"]
        for verb in ("accept", "drop"):
            path = f"/v1/shares/{grant_id}/{verb}"
            with subtests.test(path):
                assert mallory.post(path, json={}).status_code == 404
                assert mallory.post(path, json={"owner": "bob"}).status_code == 403
                assert mallory.post(path, json={}, headers={"Mnemic-Owner": "bob"}).status_code == 403
        attacks: list[tuple[str, str, dict[str, Any]]] = [
            ("POST", "/v1/groups", {"json": {"group": "team"}}),
            ("DELETE", "/v1/groups/team", {}),
            ("GET", "/v1/groups", {}),
            ("GET", "/v1/groups/team/members", {}),
            ("PUT", "/v1/groups/team/members/mallory", {"json": {}}),
            ("DELETE", "/v1/groups/team/members/bob", {}),
            ("POST", "/v1/groups/everyone/grants", {"json": {"owner": "mallory"}}),
            ("PUT", "/v1/share-policy", {"json": {"policy": "accept_all"}}),
        ]
        for method, path, options in attacks:
            # A key that may write for all owners is not that of an administrator, either.
            for client in (mallory, writer):
                with subtests.test(f"{method} {path}"):
                    assert client.request(method, path, **options).status_code == 403
        (offer,) = bob.get("/v1/shares", params={"received": "true", "given": "false"}).json()
        assert (offer["grant_id"], offer["state"]) == (grant_id, "offered")
        assert bob.post(f"/v1/shares/{grant_id}/accept", json={}).json()["state"] == "active"
