"""`mnemic tenants`, and which commands create a tenant."""

from pathlib import Path
from uuid import uuid4

import pytest

from mnemic import Memory
from mnemic.db.embedded import stop
from mnemic.errors import ConflictError, NotFoundError
from tests.cli.conftest import Run
from tests.password_server import PasswordServer

SOME_ID = "0190a000-0000-7000-8000-000000000000"
# Commands that read, or change what exists: a tenant that they name must exist.
READING = [
    ("recall", "x"),
    ("memories", "list"),
    ("memories", "get", SOME_ID),
    ("memories", "history", SOME_ID),
    ("memories", "forget", SOME_ID),
    ("memories", "update", SOME_ID, "--content", "x"),
    ("memories", "supersede", SOME_ID, "x"),
    ("entities", "list"),
    ("entities", "get", "person", "Alice"),
    ("conversations", "list"),
    ("conversations", "show", "x"),
    ("documents", "list"),
    ("documents", "delete", "x"),
    ("shares", "list"),
    ("shares", "revoke", SOME_ID),
    ("shares", "accept", SOME_ID),
    ("shares", "drop", SOME_ID),
    ("shares", "policy"),
    ("groups", "list"),
    ("groups", "members", "x"),
    ("groups", "add", "x", "bob"),
    ("groups", "remove", "x", "bob"),
    ("groups", "delete", "x"),
    ("groups", "grant", "everyone", "--owner", "alice"),
    ("stats",),
    ("erase", "--owner", "alice", "--yes"),
    ("embed",),
    ("index",),
    ("reembed",),
    ("keys", "list"),
    ("keys", "revoke", SOME_ID),
    ("jobs", "list"),
    ("jobs", "show", SOME_ID),
    ("jobs", "cancel", SOME_ID),
    ("schedules", "list"),
    ("schedules", "pause", "x"),
    ("events", "list"),
    ("events", "follow"),
    ("events", "consumers"),
    ("webhooks", "list"),
    ("webhooks", "deliveries", SOME_ID),
    ("worker",),
    ("ui", "--no-open"),
]
WRITING = [
    ("retain", "x"),
    ("entities", "upsert", "person", "Alice"),
    ("shares", "grant", "bob"),
    ("groups", "create", "team"),
    ("keys", "create", "--role", "read"),
    ("jobs", "enqueue", "some.work"),
    ("schedules", "set", "daily", "some.work", "--cron", "@daily"),
    ("webhooks", "create", "https://example.com/hook"),
]


def names(mnemic: Run) -> list[str]:
    return [each["name"] for each in mnemic("tenants", "list", "--limit", 1000, "--json").json]


def test_a_command_that_reads_does_not_create_a_tenant(mnemic: Run, subtests: pytest.Subtests) -> None:
    for arguments in READING:
        with subtests.test(" ".join(arguments)):
            ended = mnemic(*arguments, "--tenant", "typo")
            assert (ended.code, ended.out) == (1, "")
            assert ended.said.endswith(
                "Error: There is no tenant 'typo' here. `mnemic tenants list` shows those that exist; "
                "`mnemic tenants create typo` makes it."
            )
    assert "typo" not in names(mnemic)


def test_doctor_reports_an_unknown_tenant_and_does_not_create_it(mnemic: Run) -> None:
    ended = mnemic("doctor", "--tenant", "typo", "--json")
    assert ended.code == 1
    assert ended.json["checks"][-1]["name"] == "tenant"
    assert "There is no tenant 'typo' here." in ended.json["checks"][-1]["advice"]
    assert "typo" not in names(mnemic)


def test_a_command_that_writes_creates_its_tenant(mnemic: Run, subtests: pytest.Subtests) -> None:
    for arguments in WRITING:
        with subtests.test(" ".join(arguments)):
            name = f"new {uuid4()}"
            assert mnemic(*arguments, "--tenant", name).code == 0
            assert name in names(mnemic)


def test_a_new_store_is_read_as_an_empty_one(
    mnemic: Run, memory_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MNEMIC_TENANT")
    folder = memory_dir / str(uuid4())
    monkeypatch.setenv("MNEMIC_DATA_DIR", str(folder))
    assert "The owner 'alice' has no memories." in mnemic("recall", "x").out
    assert mnemic("memories", "list", "--json").json == []
    assert names(mnemic) == ["default"]
    stop(folder)


def test_tenants_are_created_listed_and_deleted(mnemic: Run, memory: Memory) -> None:
    name = f"acme {uuid4()}"
    assert mnemic("tenants", "create", name).out == f"Created: {name}\n"
    again = mnemic("tenants", "create", name)
    assert (again.code, again.said) == (1, f"Error: There is a tenant {name!r} already.")
    assert mnemic("tenants", "list").out.startswith("tenant ")
    assert name in names(mnemic)
    mnemic("retain", "Alice likes tea.", "--tenant", name)
    receipt = mnemic("tenants", "delete", name, "--yes", "--json").json
    assert receipt["rows"]["state.memories"] == 1
    assert name not in names(mnemic)
    assert memory.memories.list() == []


def test_deleting_asks_for_the_name(mnemic: Run) -> None:
    name = f"acme {uuid4()}"
    mnemic("tenants", "create", name)
    wrong = mnemic("tenants", "delete", name, stdin=b"acme\n")
    assert (wrong.code, "Nothing was deleted." in wrong.said) == (1, True)
    unasked = mnemic("tenants", "delete", name, "--json")
    assert (unasked.code, "add --yes" in unasked.said) == (1, True)
    assert name in names(mnemic)
    right = mnemic("tenants", "delete", name, stdin=f"{name}\n".encode())
    assert (right.code, f"Deleted: {name} (" in " ".join(right.out.split())) == (0, True)
    assert name not in names(mnemic)


def test_another_tenant_must_record_the_deletion(mnemic: Run, tenant: str) -> None:
    ended = mnemic("tenants", "delete", "default", "--yes")
    assert (ended.code, "'default' is the tenant in use" in ended.said) == (1, True)
    own = mnemic("tenants", "delete", tenant, "--yes", "--tenant", tenant)
    assert (own.code, "is the tenant in use" in own.said) == (1, True)
    assert mnemic("tenants", "delete", "typo", "--yes").said == (
        "Error: There is no tenant 'typo'. `mnemic tenants list` shows those that exist."
    )


@pytest.mark.parametrize("arguments", [("list",), ("create", "x"), ("delete", "x", "--yes")])
def test_over_http_the_key_decides_the_tenant(mnemic: Run, arguments: tuple[str, ...]) -> None:
    ended = mnemic("tenants", *arguments, "--url", "https://memory.example")
    assert (ended.code, "needs the database itself" in ended.said) == (1, True)


def test_tenants_of_an_own_database_need_its_administrator(
    mnemic: Run, password_server: PasswordServer
) -> None:
    database = f"cli_{uuid4().hex}"
    password_server.execute(f"CREATE DATABASE {database}")
    url = password_server.url(dbname=database)
    mnemic("migrate", "--url", url)
    assert mnemic("retain", "x", "--url", url, "--tenant", "acme").code == 0
    listed = mnemic("tenants", "list", "--url", url, "--json").json
    assert [each["name"] for each in listed] == ["acme", "default"]
    assert mnemic("tenants", "delete", "acme", "--yes", "--url", url).code == 0
    assert [each["name"] for each in mnemic("tenants", "list", "--url", url, "--json").json] == ["default"]


def test_the_sdk_creates_a_tenant_unless_told_not_to(
    memory: Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_CREATE_TENANT", "false")
    name = f"sdk {uuid4()}"
    with pytest.raises(NotFoundError, match="There is no tenant 'sdk "), Memory(data_dir=folder, tenant=name):
        pass
    memory.admin.create_tenant(name)
    with Memory(data_dir=folder, tenant=name) as opened:
        assert opened.tenant.name == name
    assert name in [each.name for each in memory.admin.tenants(after="sdk", limit=1000)]
    memory.admin.delete_tenant(name)
    with pytest.raises(ConflictError, match="is the tenant in use"):
        memory.admin.delete_tenant(memory.tenant.name)
    with pytest.raises(NotFoundError):
        memory.admin.delete_tenant(name)
