"""`memory.groups`: groups of owners, and grants to all members of a group."""

import asyncio
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from mnemic.backup.dump import back_up, restore_into
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.govern import groups, shares
from mnemic.govern.shares import readable_grants
from mnemic.sdk.memory import AsyncMemory
from tests.backup.test_erase import where_it_is
from tests.conftest import LIMITS, AppConnection
from tests.fresh_tenants import Rows
from tests.many_writers import WRITERS
from tests.opened import core_of, opened


@pytest.fixture
def own_database() -> bool:
    """Yes: the tests look at a whole database."""
    return True


@pytest.fixture
def tenant_memory(database: Database, tenant_a: Tenant) -> AsyncMemory:
    """The memory of the whole tenant, as an administrator has it."""
    return opened(database, tenant_a, owner=None)


async def givers(memory: AsyncMemory, reader: str) -> list[str]:
    """Whose memories the reader may recall."""
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        return [grant.owner for grant in await readable_grants(transaction, reader)]


async def test_a_grant_to_a_group_is_active_for_its_members_at_once(tenant_memory: AsyncMemory) -> None:
    await tenant_memory.groups.create("support")
    await tenant_memory.groups.add("support", "bob")
    grant = await tenant_memory.groups.grant("support", owner="handbook", tags=["faq"], reason="shared")
    assert (grant.owner, grant.granted_to, grant.granted_to_group) == ("handbook", None, "support")
    assert (grant.state, grant.accepted_at, grant.tags) == ("active", grant.created_at, ("faq",))
    assert await givers(tenant_memory, "bob") == ["handbook"]
    assert await givers(tenant_memory, "carol") == []
    await tenant_memory.groups.add("support", "carol")
    assert await givers(tenant_memory, "carol") == ["handbook"]
    assert await tenant_memory.shares.list(owner="handbook") == [grant]
    assert await tenant_memory.shares.list(given=False, received=True, owner="bob") == [grant]
    assert await tenant_memory.shares.list(given=False, received=True, owner="dave") == []


async def test_everyone_is_all_owners_but_the_giver(
    tenant_memory: AsyncMemory, foreign_memory: AsyncMemory
) -> None:
    grant = await tenant_memory.groups.grant("everyone", owner="handbook")
    assert await givers(tenant_memory, "somebody new") == ["handbook"]
    assert await givers(tenant_memory, "handbook") == []
    assert await givers(foreign_memory, "bob") == []
    both = await tenant_memory.shares.list(given=True, received=True, owner="handbook")
    assert both == [grant]
    await tenant_memory.shares.revoke(grant.grant_id, owner="handbook")
    assert await givers(tenant_memory, "somebody new") == []


async def test_recall_finds_what_is_shared_with_everyone_and_says_whose_it_is(
    tenant_memory: AsyncMemory,
) -> None:
    await tenant_memory.retain("The office closes at noon.", owner="handbook")
    grant = await tenant_memory.groups.grant("everyone", owner="handbook")
    found = await tenant_memory.recall("When does the office close?", owner="bob", explain=True)
    (hit,) = found
    assert hit.explain is not None
    assert (hit.memory.owner, hit.explain.grant_id) == ("handbook", grant.grant_id)
    assert found.text.endswith(", shared by handbook] The office closes at noon.")
    own = await tenant_memory.recall("When does the office close?", owner="handbook")
    assert "shared by" not in own.text


async def test_a_member_drops_a_grant_for_itself_only(tenant_memory: AsyncMemory) -> None:
    grant = await tenant_memory.groups.grant("everyone", owner="handbook")
    bob = tenant_memory.scope(owner="bob")
    dropped = await bob.shares.drop(grant.grant_id)
    assert (dropped.state, dropped.dropped_at is not None) == ("dropped", True)
    assert await bob.shares.drop(grant.grant_id) == dropped
    assert await givers(tenant_memory, "bob") == []
    assert await givers(tenant_memory, "carol") == ["handbook"]
    assert await bob.shares.list(given=False, received=True) == []
    assert await bob.shares.list(given=False, received=True, state="dropped") == [dropped]
    assert await tenant_memory.shares.list(owner="handbook") == [grant]
    with pytest.raises(ConflictError, match="This grant is dropped, for good"):
        await bob.shares.accept(grant.grant_id)
    await tenant_memory.groups.grant("everyone", owner="handbook")
    assert await givers(tenant_memory, "bob") == ["handbook"], "a new grant is another one"


async def test_who_is_in_no_group_can_neither_accept_nor_drop_its_grant(tenant_memory: AsyncMemory) -> None:
    await tenant_memory.groups.create("support")
    grant = await tenant_memory.groups.grant("support", owner="handbook")
    for attempt in (tenant_memory.shares.accept, tenant_memory.shares.drop):
        with pytest.raises(NotFoundError):
            await attempt(grant.grant_id, owner="bob")
    await tenant_memory.groups.add("support", "bob")
    assert await tenant_memory.shares.accept(grant.grant_id, owner="bob") == grant


async def test_groups_and_members_are_listed_by_name_in_pages(tenant_memory: AsyncMemory) -> None:
    for group in ("b", "a", "c"):
        await tenant_memory.groups.create(group)
    for member in ("y", "z", "x"):
        await tenant_memory.groups.add("a", member)
    assert [(group.name, group.member_count) for group in await tenant_memory.groups.list()] == [
        ("a", 3),
        ("b", 0),
        ("c", 0),
    ]
    assert [group.name for group in await tenant_memory.groups.list(after="a", limit=1)] == ["b"]
    assert await tenant_memory.groups.members("a") == ["x", "y", "z"]
    assert await tenant_memory.groups.members("a", after="x", limit=1) == ["y"]


async def test_what_does_not_exist_is_not_found(tenant_memory: AsyncMemory) -> None:
    for call in (
        tenant_memory.groups.delete("x"),
        tenant_memory.groups.add("x", "bob"),
        tenant_memory.groups.remove("x", "bob"),
        tenant_memory.groups.members("x"),
        tenant_memory.groups.grant("x", owner="handbook"),
    ):
        with pytest.raises(NotFoundError, match="There is no group 'x'"):
            await call


async def test_bad_input_is_refused_and_nothing_is_written(
    tenant_memory: AsyncMemory, admin: AppConnection
) -> None:
    for call, said in (
        (tenant_memory.groups.create("everyone"), "always exists"),
        (tenant_memory.groups.delete("everyone"), "always exists"),
        (tenant_memory.groups.add("everyone", "bob"), "always exists"),
        (tenant_memory.groups.create(""), "group must have 1 to 256"),
        (tenant_memory.groups.create("a\nb"), "group must not contain control"),
        (tenant_memory.groups.add("a", ""), "member must have 1 to 256"),
        (tenant_memory.groups.grant("everyone", owner="handbook", tags=[]), "tags must name"),
        (tenant_memory.groups.grant("everyone", owner=""), "owner must have"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            await call
    assert admin.execute("SELECT FROM traces.audit_log").fetchall() == []


async def test_names_are_unique_and_numbers_limited(
    tenant_memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GROUPS_MAX", "MEMBERS_MAX", "GROUPS_PER_OWNER_MAX"):
        monkeypatch.setattr(groups, name, 2)
    monkeypatch.setattr(shares, "GROUP_ACTIVE_MAX", 2)
    for group in ("a", "b"):
        await tenant_memory.groups.create(group)
        await tenant_memory.groups.grant("a", owner="handbook")
    for call, said in (
        (tenant_memory.groups.create("a"), "There is a group 'a' already"),
        (tenant_memory.groups.create("c"), "The tenant has 2 groups already"),
        (tenant_memory.groups.grant("a", owner="handbook"), "The group has 2 active grants"),
    ):
        with pytest.raises(ConflictError, match=said):
            await call
    for member in ("bob", "carol"):
        await tenant_memory.groups.add("a", member)
    with pytest.raises(ConflictError, match="The group has 2 members already"):
        await tenant_memory.groups.add("a", "dave")
    monkeypatch.setattr(groups, "GROUPS_PER_OWNER_MAX", 1)
    with pytest.raises(ConflictError, match="The owner is in 1 groups already"):
        await tenant_memory.groups.add("b", "bob")


async def test_limits_hold_in_a_race(
    wide_memory: AsyncMemory, tenant_a: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "MEMBERS_MAX", 3)
    admin = opened(core_of(wide_memory).storage.database, tenant_a, owner=None)
    await admin.groups.create("support")
    await asyncio.gather(
        *(admin.groups.add("support", f"owner {number}") for number in range(WRITERS)), return_exceptions=True
    )
    assert len(await admin.groups.members("support")) == 3


async def test_changes_are_audited_and_the_member_owns_its_record(
    tenant_memory: AsyncMemory, admin: AppConnection
) -> None:
    member, rows = f"qz{uuid4().hex[:10]}", Rows(admin)
    await tenant_memory.groups.create("support")
    await tenant_memory.groups.add("support", member)
    grant = await tenant_memory.groups.grant("support", owner="handbook")
    await tenant_memory.shares.drop(grant.grant_id, owner=member)
    await tenant_memory.groups.remove("support", member)
    await tenant_memory.groups.add("support", member)
    await tenant_memory.groups.delete("support")
    outcomes = [act for act in await tenant_memory.audit.list() if act.phase == "succeeded"][::-1]
    assert [(act.action, act.owner, act.target) for act in outcomes] == [
        ("create_group", None, "support"),
        ("add_group_member", member, "support"),
        ("grant_share", "handbook", str(grant.grant_id)),
        ("drop_share", member, str(grant.grant_id)),
        ("remove_group_member", member, "support"),
        ("add_group_member", member, "support"),
        ("delete_group", None, "support"),
    ]
    assert outcomes[-1].detail == {"revoked_count": 1}
    assert await tenant_memory.audit.unfinished() == []
    await tenant_memory.admin.erase(member)
    assert where_it_is(rows, member) == {}


async def test_erasing_a_member_removes_it_from_its_groups(tenant_memory: AsyncMemory) -> None:
    await tenant_memory.groups.create("support")
    await tenant_memory.groups.add("support", "bob")
    receipt = await tenant_memory.admin.erase("bob")
    assert receipt.rows["state.group_members"] == 1
    assert await tenant_memory.groups.members("support") == []


async def test_erasing_a_giver_removes_what_members_recorded_about_its_grants(
    tenant_memory: AsyncMemory, admin: AppConnection
) -> None:
    await tenant_memory.groups.create("support")
    for member in ("bob", "carol"):
        await tenant_memory.groups.add("support", member)
    erased = await tenant_memory.groups.grant("support", owner="handbook")
    kept = await tenant_memory.groups.grant("support", owner="glossary")
    for member, grant in (("bob", erased), ("carol", erased), ("bob", kept)):
        await tenant_memory.shares.drop(grant.grant_id, owner=member)
    receipt = await tenant_memory.admin.erase("handbook")
    assert receipt.rows["state.dropped_group_grants"] == 2
    assert Rows(admin).select("SELECT grant_id, owner FROM state.dropped_group_grants") == [
        (kept.grant_id, "bob")
    ]
    assert [
        each.state
        for each in await tenant_memory.shares.list(
            given=False, received=True, include_ended=True, owner="bob"
        )
    ] == ["dropped"]


async def test_an_export_has_the_memberships_and_an_import_makes_none(
    tenant_memory: AsyncMemory, foreign_memory: AsyncMemory, tmp_path: Path
) -> None:
    await tenant_memory.groups.create("support")
    await tenant_memory.groups.add("support", "bob")
    grant = await tenant_memory.groups.grant("support", owner="handbook")
    await tenant_memory.shares.drop(grant.grant_id, owner="bob")
    counts = await tenant_memory.admin.export(tmp_path / "file", owner="bob")
    assert (counts["state.group_members"], counts["state.dropped_group_grants"]) == (1, 1)
    imported = await foreign_memory.admin.import_(tmp_path / "file", embed=False)
    assert (imported.rows["state.group_members"], imported.rows["state.dropped_group_grants"]) == (0, 1)


async def test_a_backup_keeps_groups_as_they_were(
    tenant_memory: AsyncMemory, admin_conninfo: str, empty_conninfo: str, tmp_path: Path
) -> None:
    await tenant_memory.groups.create("support")
    await tenant_memory.groups.add("support", "bob")
    grant = await tenant_memory.groups.grant("support", owner="handbook")
    await tenant_memory.shares.drop(grant.grant_id, owner="bob")
    await tenant_memory.shares.set_policy("accept_all")
    await back_up(admin_conninfo, tmp_path / "backup")
    await restore_into(empty_conninfo, tmp_path / "backup", LIMITS)
    with psycopg.connect(empty_conninfo) as restored:
        members = restored.execute("SELECT group_name, owner FROM state.group_members").fetchall()
        assert members == [("support", "bob")]
        dropped = restored.execute("SELECT grant_id, owner FROM state.dropped_group_grants").fetchall()
        assert dropped == [(grant.grant_id, "bob")]
        policies = restored.execute("SELECT grant_policy FROM state.tenants WHERE name = 'tenant a'")
        assert policies.fetchall() == [("accept_all",)]


async def test_tenants_are_apart(
    tenant_memory: AsyncMemory, database: Database, tenant_b: Tenant, place_b: TenantDatabase
) -> None:
    elsewhere = opened(database, tenant_b, owner=None)
    await tenant_memory.groups.create("support")
    await tenant_memory.groups.add("support", "bob")
    assert await elsewhere.groups.list() == []
    await elsewhere.groups.create("support")
    await elsewhere.groups.grant("support", owner="handbook")
    assert await givers(elsewhere, "bob") == await givers(tenant_memory, "bob") == []
