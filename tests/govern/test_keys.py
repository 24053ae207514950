"""`memory.keys`: who may call a server, as what, for whom and until when."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import pytest
from psycopg import errors as pg

from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import InvalidInputError, NotAuthenticatedError, NotFoundError
from mnemic.govern import keys
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.key import ApiKey, NewApiKey, allows
from tests.conftest import AppConnection, ConnectAs
from tests.opened import opened
from tests.proofs import backend_identity

Call = Callable[[AsyncMemory], Coroutine[Any, Any, object]]

TOMORROW = datetime.now(UTC) + timedelta(days=1)
EXPIRE = "UPDATE state.api_keys SET created_at = now() - interval '2 h', expires_at = now() - interval '1 s'"


@pytest.fixture
def own_database() -> bool:
    """Yes: the tests look at a whole database."""
    return True


@pytest.fixture
def whole(database: Database, tenant_a: Tenant) -> AsyncMemory:
    """Tenant A's memory, for no owner in particular."""
    return opened(database, tenant_a, owner=None)


def listed(made: NewApiKey) -> ApiKey:
    return ApiKey(**{field: getattr(made, field) for field in ApiKey.__dataclass_fields__})


async def test_a_key_is_shown_once_and_only_its_hash_is_stored(
    whole: AsyncMemory, admin: AppConnection
) -> None:
    made = await whole.keys.create(role="write", name="for tests", expires_at=TOMORROW)
    assert keys.KEY_PATTERN.fullmatch(made.key)
    assert made.key.startswith(made.prefix)
    assert (made.role, made.owner, made.name, made.expires_at) == ("write", None, "for tests", TOMORROW)
    assert (made.revoked_at, made.last_used_at) == (None, None)
    assert await whole.keys.get(made.key_id) == listed(made)
    assert await whole.keys.list() == [listed(made)]
    assert made.key not in repr(made)
    ((stored, row),) = admin.execute("SELECT key_hash, api_keys::text FROM state.api_keys").fetchall()
    assert stored == sha256(made.key.encode()).digest()
    assert made.key not in str(row)


async def test_keys_are_never_the_same(whole: AsyncMemory) -> None:
    made = [await whole.keys.create(role="read") for _ in range(20)]
    assert len({key.key for key in made}) == 20


async def test_a_key_opens_its_tenant(
    whole: AsyncMemory, foreign_memory: AsyncMemory, database: Database
) -> None:
    ours = await whole.keys.create(role="read")
    theirs = await foreign_memory.keys.create(role="write")
    found = await keys.find(database, ours.key)
    assert (found.tenant, found.key) == (whole.tenant, listed(ours))
    foreign = await keys.find(database, theirs.key)
    assert (foreign.tenant, foreign.key.owner, foreign.key.role) == (foreign_memory.tenant, "alice", "write")


@pytest.mark.parametrize(
    "secret", ["", "mn_", "mn_" + "x" * 42, "mn_" + "x" * 44, "mn_" + "é" * 43, "\ud800"]
)
async def test_what_cannot_be_a_key_is_refused(database: Database, secret: str) -> None:
    with pytest.raises(NotAuthenticatedError, match="not an API key"):
        await keys.find(database, secret)


async def test_a_key_that_nobody_was_given_opens_nothing(whole: AsyncMemory, database: Database) -> None:
    made = await whole.keys.create(role="read")
    for secret in ("mn_" + "x" * 43, made.key[:-1] + ("a" if made.key[-1] != "a" else "b")):
        with pytest.raises(NotAuthenticatedError, match="This API key is unknown"):
            await keys.find(database, secret)


async def test_revoking_takes_effect_at_once_and_for_good(
    whole: AsyncMemory, database: Database, admin: AppConnection
) -> None:
    made = await whole.keys.create(role="read")
    revoked = await whole.keys.revoke(made.key_id)
    assert revoked.revoked_at is not None
    with pytest.raises(NotAuthenticatedError, match="revoked"):
        await keys.find(database, made.key)
    assert await whole.keys.revoke(made.key_id) == revoked
    assert await whole.keys.list() == []
    assert await whole.keys.list(include_ended=True) == [revoked]
    with pytest.raises(pg.CheckViolation, match="stays revoked"):
        admin.execute("UPDATE state.api_keys SET revoked_at = NULL")


async def test_an_expired_key_opens_nothing(
    whole: AsyncMemory, database: Database, admin: AppConnection
) -> None:
    made = await whole.keys.create(role="read", expires_at=TOMORROW)
    await keys.find(database, made.key)
    admin.execute(EXPIRE)
    with pytest.raises(NotAuthenticatedError, match="expired"):
        await keys.find(database, made.key)
    assert await whole.keys.list() == []


async def test_many_at_once_revoke_a_key_once(whole: AsyncMemory) -> None:
    made = await whole.keys.create(role="read")
    revoked = await asyncio.gather(*(whole.keys.revoke(made.key_id) for _ in range(8)))
    assert len({key.revoked_at for key in revoked}) == 1
    outcomes = [act for act in await whole.audit.list(action="revoke_key") if act.phase == "succeeded"]
    assert sum(int(act.detail["revoked_count"]) for act in outcomes) == 1


async def test_making_and_revoking_is_audited_without_the_key(
    whole: AsyncMemory, admin: AppConnection
) -> None:
    made = await whole.keys.create(role="admin", name="secret name")
    await whole.keys.revoke(made.key_id)
    acts = [(act.action, act.phase, act.target) for act in await whole.audit.list()]
    target = str(made.key_id)
    assert acts[::-1] == [
        ("create_key", "intent", target),
        ("create_key", "succeeded", target),
        ("revoke_key", "intent", target),
        ("revoke_key", "succeeded", target),
    ]
    ((written,),) = admin.execute("SELECT string_agg(audit_log::text, ' ') FROM traces.audit_log").fetchall()
    assert made.key not in str(written)
    assert made.prefix not in str(written)


async def test_a_memory_with_an_owner_has_only_the_keys_of_that_owner(
    whole: AsyncMemory, memory: AsyncMemory
) -> None:
    general = await whole.keys.create(role="write")
    own = await memory.keys.create(role="write")
    others = await whole.keys.create(role="read", owner="bob")
    assert (own.owner, others.owner) == ("alice", "bob")
    assert await memory.keys.list() == [listed(own)]
    assert await whole.keys.list() == [listed(key) for key in (others, own, general)]
    for key in (general, others):
        with pytest.raises(NotFoundError):
            await memory.keys.get(key.key_id)
        with pytest.raises(NotFoundError):
            await memory.keys.revoke(key.key_id)
    assert len(await whole.keys.list()) == 3


async def test_keys_are_listed_in_pages(whole: AsyncMemory) -> None:
    made = [listed(await whole.keys.create(role="read")) for _ in range(5)][::-1]
    first = await whole.keys.list(limit=2)
    rest = await whole.keys.list(before=first[-1].key_id)
    assert [*first, *rest] == made
    with pytest.raises(NotFoundError, match="before"):
        await whole.keys.list(before=uuid4())


BAD: dict[str, tuple[Call, str]] = {
    "an unknown role": (lambda memory: memory.keys.create(role="owner"), "role must be one of"),  # type: ignore[arg-type]
    "an admin for one owner": (lambda memory: memory.keys.create(role="admin", owner="bob"), "whole tenant"),
    "an empty name": (lambda memory: memory.keys.create(role="read", name=" "), "name must have"),
    "an odd owner": (lambda memory: memory.keys.create(role="read", owner="a\0"), "owner must not contain"),
    "the past": (
        lambda memory: memory.keys.create(role="read", expires_at="2020-01-01T00:00Z"),
        "the future",
    ),
    "no time": (
        lambda memory: memory.keys.create(role="read", expires_at="soon"),
        "expires_at must be a date",
    ),
    "no id": (lambda memory: memory.keys.get("mn_x"), "key_id must be an id"),
    "too many": (lambda memory: memory.keys.list(limit=1001), "limit must be"),
    "no flag": (lambda memory: memory.keys.list(include_ended=1), "include_ended must be"),  # type: ignore[arg-type]
}


async def test_bad_input_is_refused_and_nothing_is_written(
    whole: AsyncMemory, admin: AppConnection, subtests: pytest.Subtests
) -> None:
    for bad in BAD:
        with subtests.test(bad=bad):
            call, message = BAD[bad]
            with pytest.raises(InvalidInputError, match=message):
                await call(whole)
            assert admin.execute("SELECT FROM state.api_keys").fetchall() == []
            assert admin.execute("SELECT FROM traces.audit_log").fetchall() == []


async def test_the_last_use_is_noted_and_does_not_go_back(
    whole: AsyncMemory, place_a: TenantDatabase
) -> None:
    made = await whole.keys.create(role="read")
    earlier = TOMORROW - timedelta(hours=1)
    assert await keys.note_uses(place_a, {made.key_id: TOMORROW, uuid4(): TOMORROW}) == 1
    await keys.note_uses(place_a, {made.key_id: earlier})
    assert (await whole.keys.get(made.key_id)).last_used_at == TOMORROW


async def test_the_last_use_of_a_revoked_key_can_be_noted(
    whole: AsyncMemory, place_a: TenantDatabase
) -> None:
    made = await whole.keys.create(role="read")
    await whole.keys.revoke(made.key_id)
    assert await keys.note_uses(place_a, {made.key_id: TOMORROW}) == 1


async def test_whether_there_are_keys_is_known_for_all_tenants_together(
    whole: AsyncMemory, foreign_memory: AsyncMemory, database: Database, admin: AppConnection
) -> None:
    assert not await keys.any_exist(database)
    made = await foreign_memory.keys.create(role="read")
    assert await keys.any_exist(database)
    await foreign_memory.keys.revoke(made.key_id)
    assert not await keys.any_exist(database)


def test_each_role_may_do_what_the_ones_before_it_may() -> None:
    assert [allows("write", role) for role in ("read", "write", "admin")] == [True, True, False]
    assert [allows(role, "write") for role in ("read", "write", "admin")] == [False, True, True]


async def test_erasing_an_owner_takes_the_keys_of_that_owner(
    whole: AsyncMemory, memory: AsyncMemory, database: Database
) -> None:
    own, general = await memory.keys.create(role="read"), await whole.keys.create(role="read")
    receipt = await whole.admin.erase("alice")
    assert receipt.rows["state.api_keys"] == 1
    with pytest.raises(NotAuthenticatedError):
        await keys.find(database, own.key)
    await keys.find(database, general.key)


async def test_looking_a_key_up_uses_an_index(
    whole: AsyncMemory, access: Access, admin: AppConnection
) -> None:
    admin.execute(
        "INSERT INTO state.api_keys (tenant_id, role, key_hash, prefix)"
        " SELECT %s, 'read', sha256(convert_to(n::text, 'UTF8')), 'mn_' FROM generate_series(1, 20000) AS n",
        [whole.tenant.id],
    )
    admin.execute("ANALYZE state.api_keys")
    plan = admin.execute(
        "EXPLAIN SELECT FROM state.api_keys WHERE key_hash = decode(mnemic.verified_claim('key'), 'hex')"
    ).fetchall()
    assert "api_keys_hash" in str(plan)


# Attacks: SQL in the hands of a tenant, or of nobody.


FIND = "SELECT key_id FROM mnemic.find_key(%s, %s)"


def test_without_its_proof_no_key_is_looked_for(connect_as: ConnectAs, tenant_a: Tenant) -> None:
    for tenant in (tenant_a, None):
        with pytest.raises(pg.InsufficientPrivilege, match="proof"):
            connect_as(tenant).execute("SELECT mnemic.has_keys()")


@pytest.mark.parametrize(
    "whose", ["nobody", "no one", "another key", "another process", "a tenant", "a proof"]
)
async def test_a_hash_without_its_signature_finds_nothing(
    whole: AsyncMemory, foreign_memory: AsyncMemory, connect_as: ConnectAs, access: Access, whose: str
) -> None:
    theirs = await foreign_memory.keys.create(role="read")
    ours = await whole.keys.create(role="read")
    connection = connect_as(whole.tenant)
    digest, process = sha256(theirs.key.encode()).hexdigest(), backend_identity(connection)
    signed = {
        "nobody": None,
        "no one": "",
        "another key": access.key.signature(
            "find key", sha256(ours.key.encode()).hexdigest(), process=process
        ),
        "another process": access.key.signature(
            "find key", digest, process=backend_identity(connect_as(None))
        ),
        "a tenant": access.key.signature("authenticate", digest, process=process),
        "a proof": access.key.proof("key", digest, moment=process),
    }
    with pytest.raises(pg.InsufficientPrivilege, match="needs a signature"):
        connection.execute(FIND, [digest, signed[whose]])


@pytest.mark.parametrize("subject", ["any", "", "0" * 63])
def test_what_is_no_hash_finds_nothing_even_if_it_is_signed(
    connect_as: ConnectAs, access: Access, subject: str
) -> None:
    connection = connect_as(None)
    signed = access.key.signature("find key", subject, process=backend_identity(connection))
    with pytest.raises(pg.InsufficientPrivilege, match="needs a signature"):
        connection.execute(FIND, [subject, signed])


async def test_the_signature_of_one_key_shows_no_other(
    whole: AsyncMemory, foreign_memory: AsyncMemory, connect_as: ConnectAs, access: Access
) -> None:
    ours, theirs = await whole.keys.create(role="read"), await foreign_memory.keys.create(role="read")
    connection = connect_as(None)
    digest = sha256(ours.key.encode()).hexdigest()
    signed = access.key.signature("find key", digest, process=backend_identity(connection))
    assert connection.execute(FIND, [digest, signed]).fetchall() == [(ours.key_id,)]
    assert connection.execute("TABLE state.api_keys").fetchall() == []
    assert connection.execute("TABLE state.tenants").fetchall() == []
    assert theirs.key_id != ours.key_id


async def test_a_tenant_sees_and_changes_no_keys_of_another(
    whole: AsyncMemory, foreign_memory: AsyncMemory, connect_as: ConnectAs
) -> None:
    theirs = await foreign_memory.keys.create(role="read")
    with pytest.raises(NotFoundError):
        await whole.keys.get(theirs.key_id)
    with pytest.raises(NotFoundError):
        await whole.keys.revoke(theirs.key_id)
    connection = connect_as(whole.tenant)
    assert connection.execute("TABLE state.api_keys").fetchall() == []
    assert connection.execute("UPDATE state.api_keys SET revoked_at = now()").rowcount == 0


@pytest.mark.parametrize(
    "change", ["role = 'admin'", "owner = NULL", "key_hash = key_hash", "expires_at = NULL", "prefix = 'x'"]
)
async def test_what_a_key_may_do_cannot_be_changed(
    whole: AsyncMemory, connect_as: ConnectAs, change: str
) -> None:
    await whole.keys.create(role="read", owner="bob", expires_at=TOMORROW)
    with pytest.raises(pg.InsufficientPrivilege):
        connect_as(whole.tenant).execute(f"UPDATE state.api_keys SET {change}".encode())
