"""Sessions in the database: who finds one, who sees one, and what happens to them with their key."""

from hashlib import sha256

import pytest
from psycopg import errors as pg

from mnemic.db.access import Access
from mnemic.db.database import Database, TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import NotAuthenticatedError
from mnemic.govern import keys, sessions
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection, ConnectAs
from tests.opened import opened
from tests.proofs import backend_identity

FIND = "SELECT session_id FROM mnemic.find_session(%s, %s)"
COUNT = "SELECT count(*) FROM queue.sessions WHERE tenant_id = %s"


@pytest.fixture
def whole(database: Database, tenant_a: Tenant) -> AsyncMemory:
    """Tenant A's memory, for no owner in particular."""
    return opened(database, tenant_a, owner=None)


@pytest.fixture
def tenant_database(database: Database, tenant_a: Tenant) -> TenantDatabase:
    return TenantDatabase(database, tenant_a)


async def test_a_session_is_found_with_the_role_and_owner_of_its_key(
    whole: AsyncMemory, database: Database, tenant_database: TenantDatabase
) -> None:
    made = await whole.keys.create(role="write", owner="alice")
    opened_session = await sessions.open_session(tenant_database, made)
    found = await sessions.find(database, opened_session.secret)
    assert (found.tenant, found.session_id) == (whole.tenant, opened_session.session_id)
    assert (found.key.key_id, found.key.role, found.key.owner) == (made.key_id, "write", "alice")
    assert opened_session.secret not in repr(opened_session)
    with pytest.raises(NotAuthenticatedError):
        await keys.find(database, opened_session.secret)
    (listed,) = await whole.keys.list()
    assert listed.session_count == 1


async def test_an_ended_key_opens_no_session(whole: AsyncMemory, tenant_database: TenantDatabase) -> None:
    made = await whole.keys.create(role="write")
    await whole.keys.revoke(made.key_id)
    with pytest.raises(NotAuthenticatedError):
        await sessions.open_session(tenant_database, made)
    (failed,) = await whole.audit.operations(outcome="failed")
    assert failed.action == "open_session"


async def test_sessions_go_with_their_key_and_owner(
    whole: AsyncMemory, database: Database, tenant_database: TenantDatabase, admin: AppConnection
) -> None:
    made = await whole.keys.create(role="write", owner="alice")
    other = await whole.keys.create(role="write")
    session = await sessions.open_session(tenant_database, made)
    await sessions.open_session(tenant_database, other)
    receipt = await whole.admin.erase("alice")
    assert receipt.rows["queue.sessions"] == 1
    with pytest.raises(NotAuthenticatedError):
        await sessions.find(database, session.secret)
    await whole.keys.revoke(other.key_id)
    assert admin.execute(COUNT, [whole.tenant.id]).fetchone() == (0,)


@pytest.mark.parametrize("whose", ["nobody", "another session", "another process", "a key", "a tenant"])
async def test_a_hash_without_its_signature_finds_nothing(
    whole: AsyncMemory, tenant_database: TenantDatabase, connect_as: ConnectAs, access: Access, whose: str
) -> None:
    made = await whole.keys.create(role="read")
    session = await sessions.open_session(tenant_database, made)
    connection = connect_as(None)
    digest, process = sha256(session.secret.encode()).hexdigest(), backend_identity(connection)
    signed = {
        "nobody": None,
        "another session": access.key.signature("find session", "0" * 64, process=process),
        "another process": access.key.signature(
            "find session", digest, process=backend_identity(connect_as(None))
        ),
        "a key": access.key.signature("find key", digest, process=process),
        "a tenant": access.key.signature("authenticate", digest, process=process),
    }
    with pytest.raises(pg.InsufficientPrivilege, match="needs a signature"):
        connection.execute(FIND, [digest, signed[whose]])


async def test_the_signature_of_one_session_shows_no_other(
    whole: AsyncMemory, tenant_database: TenantDatabase, connect_as: ConnectAs, access: Access
) -> None:
    made = await whole.keys.create(role="read")
    session = await sessions.open_session(tenant_database, made)
    await sessions.open_session(tenant_database, made)
    connection = connect_as(None)
    digest = sha256(session.secret.encode()).hexdigest()
    signed = access.key.signature("find session", digest, process=backend_identity(connection))
    assert connection.execute(FIND, [digest, signed]).fetchall() == [(session.session_id,)]
    for table in ("queue.sessions", "state.api_keys", "state.tenants"):
        assert connection.execute(f"TABLE {table}".encode()).fetchall() == []


async def test_a_tenant_sees_changes_and_adds_no_sessions_of_another(
    whole: AsyncMemory,
    foreign_memory: AsyncMemory,
    database: Database,
    connect_as: ConnectAs,
) -> None:
    theirs = await foreign_memory.keys.create(role="write")
    session = await sessions.open_session(TenantDatabase(database, foreign_memory.tenant), theirs)
    connection = connect_as(whole.tenant)
    assert connection.execute("TABLE queue.sessions").fetchall() == []
    assert connection.execute("DELETE FROM queue.sessions").rowcount == 0
    for tenant, error in ((foreign_memory.tenant, pg.InsufficientPrivilege), (whole.tenant, pg.Error)):
        with pytest.raises(error):
            connect_as(whole.tenant).execute(
                "INSERT INTO queue.sessions (tenant_id, key_id, kind, secret_hash, expires_at)"
                " VALUES (%s, %s, 'session', sha256('x'), now() + interval '1 h')",
                [tenant.id, theirs.key_id],
            )
    with pytest.raises(pg.InsufficientPrivilege):
        connect_as(whole.tenant).execute("UPDATE queue.sessions SET key_id = key_id")
    assert (await sessions.find(database, session.secret)).tenant == foreign_memory.tenant


async def test_looking_a_session_up_uses_an_index(
    whole: AsyncMemory, tenant_database: TenantDatabase, admin: AppConnection
) -> None:
    made = await whole.keys.create(role="read")
    admin.execute(
        "INSERT INTO queue.sessions (tenant_id, key_id, kind, secret_hash, expires_at)"
        " SELECT %s, %s, 'session', sha256(convert_to(n::text, 'UTF8')), now() + interval '1 h'"
        " FROM generate_series(1, 20000) AS n",
        [whole.tenant.id, made.key_id],
    )
    admin.execute("ANALYZE queue.sessions")
    plan = admin.execute("EXPLAIN SELECT FROM queue.sessions WHERE secret_hash = sha256('7')").fetchall()
    assert "sessions_hash" in str(plan)
