"""`memory.shares`: who lets whom recall, until when, and what the database makes sure of."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import repeat
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import errors as pg

from mnemic.db.database import TenantDatabase
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError, OwnerRequiredError
from mnemic.govern import shares
from mnemic.govern.shares import readable_grants
from mnemic.sdk.memory import AsyncMemory
from mnemic.sql import query
from mnemic.types.share import GRANT_STATES, Grant, ReadableGrant
from tests.accepted_grants import accepted_grant
from tests.conftest import AppConnection, ConnectAs
from tests.many_writers import WRITERS
from tests.opened import core_of, opened

Call = Callable[[Any], Coroutine[Any, Any, object]]

TOMORROW = datetime.now(UTC) + timedelta(days=1)
EXPIRE = "UPDATE state.grants SET created_at = now() - interval '2 h', expires_at = now() - interval '1 s'"


async def readable(memory: AsyncMemory, reader: str) -> list[ReadableGrant]:
    async with core_of(memory).storage.tenant_database.transaction() as transaction:
        return await readable_grants(transaction, reader)


async def readable_ids(memory: AsyncMemory, reader: str) -> list[UUID]:
    return [grant.grant_id for grant in await readable(memory, reader)]


async def test_a_grant_says_who_may_read_what_and_until_when(memory: AsyncMemory) -> None:
    grant = await memory.shares.grant(
        "bob",
        channel="project",
        categories=["preference", "factual", "factual"],
        tags=[" Travel ", "food"],
        conversation="planning",
        expires_at=TOMORROW,
        reason="we travel together",
    )
    assert (grant.owner, grant.granted_to, grant.process) == ("alice", "bob", "sdk")
    assert (grant.channel, grant.conversation) == ("project", "planning")
    assert (grant.categories, grant.tags) == (("factual", "preference"), ("food", "travel"))
    assert (grant.expires_at, grant.reason) == (TOMORROW, "we travel together")
    assert (grant.revoked_at, grant.revoking_reason) == (None, None)
    assert (grant.state, grant.accepted_at, grant.dropped_at) == ("offered", None, None)
    assert await memory.shares.list() == [grant]
    assert await memory.shares.list(given=False, received=True, state="offered", owner="bob") == [grant]
    assert await readable(memory, "bob") == []
    accepted = await memory.shares.accept(str(grant.grant_id), owner="bob")
    assert accepted == replace(grant, state="active", accepted_at=accepted.accepted_at)
    assert await memory.shares.list() == [accepted]
    assert await readable(memory, "bob") == [
        ReadableGrant(
            grant.grant_id, "alice", "project", ("factual", "preference"), ("food", "travel"), "planning"
        )
    ]


async def test_a_grant_without_a_scope_opens_everything(memory: AsyncMemory) -> None:
    grant = await accepted_grant(memory, "bob")
    scope = (grant.channel, grant.categories, grant.tags, grant.conversation, grant.expires_at, grant.reason)
    assert scope == (None,) * 6
    assert await readable(memory, "bob") == [ReadableGrant(grant.grant_id, "alice", None, None, None, None)]


async def test_a_grant_is_for_its_reader_and_goes_one_way(memory: AsyncMemory) -> None:
    await accepted_grant(memory, "bob")
    assert await readable(memory, "alice") == []
    assert await readable(memory, "Bob") == []
    assert await readable(memory, "carol") == []


async def test_revoking_ends_a_grant_and_keeps_it_as_history(memory: AsyncMemory) -> None:
    grant = await accepted_grant(memory, "bob", reason="a trip")
    revoked = await memory.shares.revoke(str(grant.grant_id), reason="the trip is over")
    assert revoked.revoked_at is not None
    assert (revoked.grant_id, revoked.reason, revoked.revoking_reason) == (
        grant.grant_id,
        "a trip",
        "the trip is over",
    )
    assert await readable(memory, "bob") == []
    assert await memory.shares.list() == []
    assert await memory.shares.list(include_ended=True) == [revoked]


async def test_revoking_shows_in_the_next_statement_of_a_running_transaction(
    memory: AsyncMemory, place_a: TenantDatabase
) -> None:
    grant = await accepted_grant(memory, "bob")
    async with place_a.transaction() as transaction:
        assert len(await readable_grants(transaction, "bob")) == 1
        await memory.shares.revoke(grant.grant_id)
        assert await readable_grants(transaction, "bob") == []


async def test_expiring_shows_in_the_next_statement_of_a_running_transaction(
    memory: AsyncMemory, place_a: TenantDatabase, admin: AppConnection
) -> None:
    """A grant ends on time even for a transaction that began before."""
    await accepted_grant(memory, "bob", expires_at=TOMORROW)
    async with place_a.transaction() as transaction:
        assert len(await readable_grants(transaction, "bob")) == 1
        expire = "UPDATE state.grants SET expires_at = clock_timestamp() WHERE tenant_id = %s"
        admin.execute(expire, [memory.tenant.id])
        assert await readable_grants(transaction, "bob") == []


async def test_revoking_again_changes_nothing_and_is_not_audited_again(memory: AsyncMemory) -> None:
    grant = await accepted_grant(memory, "bob")
    revoked = await memory.shares.revoke(grant.grant_id, reason="first")
    audited_count = len(await memory.audit.list())
    assert await memory.shares.revoke(grant.grant_id, reason="second") == revoked
    assert len(await memory.audit.list()) == audited_count


async def test_revoking_at_once_from_many_sides_revokes_once(wide_memory: AsyncMemory) -> None:
    grant = await accepted_grant(wide_memory, "bob")
    revoked = await asyncio.gather(
        *(wide_memory.shares.revoke(grant.grant_id, reason=f"reason {n}") for n in range(WRITERS))
    )
    assert len(set(revoked)) == 1
    outcomes = [act.detail for act in await wide_memory.audit.list() if act.phase == "succeeded"]
    assert sum(detail.get("revoked_count", 0) for detail in outcomes) == 1
    assert await wide_memory.audit.unfinished() == []


async def test_each_grant_is_revoked_on_its_own(memory: AsyncMemory) -> None:
    first, second = await accepted_grant(memory, "bob"), await accepted_grant(memory, "bob")
    await memory.shares.revoke(first.grant_id)
    assert await readable_ids(memory, "bob") == [second.grant_id]


async def test_an_expired_grant_lets_nobody_read(memory: AsyncMemory, admin: AppConnection) -> None:
    grant = await accepted_grant(memory, "bob", expires_at=TOMORROW.isoformat())
    assert await readable_ids(memory, "bob") == [grant.grant_id]
    admin.execute(f"{EXPIRE} WHERE tenant_id = %s".encode(), [memory.tenant.id])
    assert await readable(memory, "bob") == []
    assert await memory.shares.list() == []
    (ended,) = await memory.shares.list(include_ended=True)
    assert (ended.grant_id, ended.revoked_at) == (grant.grant_id, None)
    assert (await memory.shares.revoke(grant.grant_id)).revoked_at is not None


@pytest.mark.parametrize("stranger", ["bob", "carol"])
async def test_only_the_giver_can_revoke(memory: AsyncMemory, stranger: str) -> None:
    grant = await accepted_grant(memory, "bob")
    with pytest.raises(NotFoundError, match="Only its giver can revoke a grant"):
        await memory.shares.revoke(grant.grant_id, owner=stranger)
    assert await readable_ids(memory, "bob") == [grant.grant_id]


async def test_what_does_not_exist_cannot_be_revoked(memory: AsyncMemory) -> None:
    with pytest.raises(NotFoundError):
        await memory.shares.revoke(uuid4())
    assert await memory.audit.list() == []


async def test_tenants_are_apart(memory: AsyncMemory, foreign_memory: AsyncMemory) -> None:
    grant = await accepted_grant(memory, "bob")
    assert await readable(foreign_memory, "bob") == []
    assert await foreign_memory.shares.list(given=True, received=True, include_ended=True) == []
    with pytest.raises(NotFoundError):
        await foreign_memory.shares.revoke(grant.grant_id)
    with pytest.raises(NotFoundError):
        await foreign_memory.shares.list(before=grant.grant_id)
    assert await readable_ids(memory, "bob") == [grant.grant_id]


async def test_lists_hold_what_was_given_received_or_both(memory: AsyncMemory) -> None:
    given = await memory.shares.grant("bob")
    received = await memory.shares.grant("alice", owner="bob")
    await memory.shares.grant("carol", owner="bob")
    assert await memory.shares.list() == [given]
    assert await memory.shares.list(given=False, received=True) == [received]
    assert await memory.shares.list(received=True) == [received, given]
    assert len(await memory.shares.list(received=True, owner="bob")) == 3
    with pytest.raises(NotFoundError):
        await memory.shares.list(before=received.grant_id)


async def test_pages_follow_each_other_without_gap_or_repetition(
    memory: AsyncMemory, admin: AppConnection
) -> None:
    for number in range(8):
        giver, reader = ("alice", f"reader {number}") if number % 2 else (f"giver {number}", "alice")
        grant = await memory.shares.grant(reader, owner=giver)
        if number in (3, 4):
            await memory.shares.revoke(grant.grant_id, owner=giver)
    admin.execute("SET session_replication_role = replica")  # No trigger runs for this connection.
    admin.execute("UPDATE state.grants SET created_at = date_trunc('day', created_at)")
    everything = await memory.shares.list(received=True, include_ended=True)
    paged: list[Grant] = []
    while page := await memory.shares.list(
        received=True, include_ended=True, limit=3, before=paged[-1].grant_id if paged else None
    ):
        paged += page
    assert paged == everything
    assert len(paged) == 8
    assert len(await memory.shares.list(received=True)) == 6


BAD_INPUT: list[tuple[Call, str]] = [
    (lambda memory: memory.shares.grant(""), "to must have 1 to 256"),
    (lambda memory: memory.shares.grant("b" * 257), "to must have 1 to 256"),
    (lambda memory: memory.shares.grant(None), "to must be text"),
    (lambda memory: memory.shares.grant("b\0b"), "to must not contain control"),
    (lambda memory: memory.shares.grant("alice"), "to must be another owner"),
    (lambda memory: memory.shares.grant("bob", owner="bob"), "to must be another owner"),
    (lambda memory: memory.shares.grant("bob", channel=""), "channel must have"),
    (lambda memory: memory.shares.grant("bob", channel=7), "channel must be text"),
    (lambda memory: memory.shares.grant("bob", conversation=" "), "conversation must have"),
    (lambda memory: memory.shares.grant("bob", categories=[]), "categories must name 1 to 7"),
    (lambda memory: memory.shares.grant("bob", categories="factual"), "categories must be a list"),
    (lambda memory: memory.shares.grant("bob", categories={"factual": 1}), "categories must be a list"),
    (lambda memory: memory.shares.grant("bob", categories=7), "categories must be a list"),
    (lambda memory: memory.shares.grant("bob", categories=["secret"]), "categories must be one of"),
    (lambda memory: memory.shares.grant("bob", categories=repeat("factual")), "categories must name"),
    (lambda memory: memory.shares.grant("bob", tags=[]), "tags must name at least one"),
    (lambda memory: memory.shares.grant("bob", tags="food"), "tags must be a list"),
    (lambda memory: memory.shares.grant("bob", tags=["t" * 65]), "A tag has 1 to 64"),
    (lambda memory: memory.shares.grant("bob", tags=map(str, range(65))), "at most 64"),
    (
        lambda memory: memory.shares.grant("bob", expires_at=datetime(2999, 1, 1)),
        "expires_at has no time",
    ),
    (lambda memory: memory.shares.grant("bob", expires_at="2020-01-01T00:00:00Z"), "expires_at must lie"),
    (lambda memory: memory.shares.grant("bob", expires_at="soon"), "expires_at must be a date"),
    (lambda memory: memory.shares.grant("bob", expires_at=3600), "expires_at must be a datetime"),
    (lambda memory: memory.shares.grant("bob", reason=""), "reason must not be empty"),
    (lambda memory: memory.shares.grant("bob", reason="r" * 1025), "reason has 1,025 characters"),
    (lambda memory: memory.shares.revoke("x"), "grant_id must be an id"),
    (lambda memory: memory.shares.accept("x"), "grant_id must be an id"),
    (lambda memory: memory.shares.drop(7), "grant_id must be an id"),
    (lambda memory: memory.shares.list(state="open"), "state must be one of offered, active, expired"),
    (lambda memory: memory.shares.revoke(uuid4(), reason="\0"), "reason must not"),
    (lambda memory: memory.shares.list(given=False), "given or received must be True"),
    (lambda memory: memory.shares.list(given="yes"), "given must be True or False"),
    (lambda memory: memory.shares.list(received=1), "received must be True or False"),
    (lambda memory: memory.shares.list(include_ended=None), "include_ended must be True or False"),
    (lambda memory: memory.shares.list(before="x"), "before must be an id"),
    (lambda memory: memory.shares.list(limit=0), "limit must be"),
]


async def test_bad_input_is_refused_and_nothing_is_written(
    memory: AsyncMemory, admin: AppConnection, subtests: pytest.Subtests
) -> None:
    for call, said in BAD_INPUT:
        with subtests.test(said):
            with pytest.raises(InvalidInputError, match=said):
                await call(memory)
            tenant = [memory.tenant.id]
            assert admin.execute("SELECT FROM state.grants WHERE tenant_id = %s", tenant).fetchall() == []
            assert admin.execute("SELECT FROM traces.audit_log WHERE tenant_id = %s", tenant).fetchall() == []


async def test_without_an_owner_there_is_no_call(memory: AsyncMemory, tenant_a: Tenant) -> None:
    nobody = opened(core_of(memory).storage.database, tenant_a, owner=None)
    for call in (
        nobody.shares.grant("bob"),
        nobody.shares.accept(uuid4()),
        nobody.shares.drop(uuid4()),
        nobody.shares.revoke(uuid4()),
        nobody.shares.list(),
    ):
        with pytest.raises(OwnerRequiredError):
            await call


async def test_the_number_of_active_grants_of_one_reader_has_a_limit(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is offered or has ended does not count. Calls at once: see tests/attacks/grants."""
    monkeypatch.setattr(shares, "ACTIVE_MAX", 2)
    offers = [await memory.shares.grant("bob", owner=f"giver {number}") for number in range(4)]
    accepted = [await memory.shares.accept(offer.grant_id, owner="bob") for offer in offers[:2]]
    with pytest.raises(ConflictError, match="You have 2 active grants already: drop some"):
        await memory.shares.accept(offers[2].grant_id, owner="bob")
    await accepted_grant(memory, "carol")
    await memory.shares.revoke(accepted[0].grant_id, owner=accepted[0].owner)
    await memory.shares.accept(offers[2].grant_id, owner="bob")
    await memory.shares.drop(accepted[1].grant_id, owner="bob")
    await memory.shares.accept(offers[3].grant_id, owner="bob")
    assert await readable_ids(memory, "bob") == [offer.grant_id for offer in offers[2:]]


async def test_accepting_again_changes_nothing_and_is_not_audited_again(memory: AsyncMemory) -> None:
    grant = await accepted_grant(memory, "bob")
    audited_count = len(await memory.audit.list(owner="bob"))
    assert await memory.shares.accept(grant.grant_id, owner="bob") == grant
    assert len(await memory.audit.list(owner="bob")) == audited_count == 2


@pytest.mark.parametrize("was_accepted", [False, True])
async def test_the_reader_drops_a_grant_at_once_and_for_good(memory: AsyncMemory, was_accepted: bool) -> None:
    grant = await (accepted_grant(memory, "bob") if was_accepted else memory.shares.grant("bob"))
    dropped = await memory.shares.drop(grant.grant_id, owner="bob")
    assert dropped == replace(grant, state="dropped", dropped_at=dropped.dropped_at)
    assert await readable(memory, "bob") == []
    audited_count = len(await memory.audit.list(owner="bob"))
    assert await memory.shares.drop(grant.grant_id, owner="bob") == dropped
    assert len(await memory.audit.list(owner="bob")) == audited_count
    # The giver sees it, and has nothing left to revoke.
    assert await memory.shares.revoke(grant.grant_id, reason="too late") == dropped
    assert await memory.shares.list() == []
    assert await memory.shares.list(state="dropped") == [dropped]


async def test_dropping_what_was_revoked_changes_nothing(memory: AsyncMemory) -> None:
    grant = await accepted_grant(memory, "bob")
    revoked = await memory.shares.revoke(grant.grant_id)
    assert await memory.shares.drop(grant.grant_id, owner="bob") == revoked


async def test_dropping_shows_in_the_next_statement_of_a_running_transaction(
    memory: AsyncMemory, place_a: TenantDatabase
) -> None:
    grant = await memory.shares.grant("bob")
    async with place_a.transaction() as transaction:
        assert await readable_grants(transaction, "bob") == []
        await memory.shares.accept(grant.grant_id, owner="bob")
        assert len(await readable_grants(transaction, "bob")) == 1
        await memory.shares.drop(grant.grant_id, owner="bob")
        assert await readable_grants(transaction, "bob") == []


async def test_lists_hold_the_grants_in_one_state(memory: AsyncMemory, admin: AppConnection) -> None:
    grants = {state: await memory.shares.grant("bob", expires_at=TOMORROW) for state in GRANT_STATES}
    await memory.shares.accept(grants["active"].grant_id, owner="bob")
    await memory.shares.drop(grants["dropped"].grant_id, owner="bob")
    await memory.shares.revoke(grants["revoked"].grant_id)
    admin.execute(f"{EXPIRE} WHERE grant_id = %s".encode(), [grants["expired"].grant_id])
    for state, grant in grants.items():
        for side in ({"owner": "alice"}, {"owner": "bob", "given": False, "received": True}):
            found = await memory.shares.list(state=state, **side)
            assert [(each.grant_id, each.state) for each in found] == [(grant.grant_id, state)]
    assert {grant.state for grant in await memory.shares.list()} == {"offered", "active"}
    assert {grant.state for grant in await memory.shares.list(include_ended=True)} == set(GRANT_STATES)


async def test_a_policy_of_the_tenant_accepts_for_all_readers(
    memory: AsyncMemory, foreign_memory: AsyncMemory, tenant_a: Tenant
) -> None:
    everybody = opened(core_of(memory).storage.database, tenant_a, owner=None)
    offered = await memory.shares.grant("bob")
    await everybody.shares.set_policy("accept_all")
    accepted = await memory.shares.grant("bob")
    assert (accepted.state, accepted.accepted_at) == ("active", accepted.created_at)
    assert await readable_ids(memory, "bob") == [accepted.grant_id], "open offers stay open"
    assert (await foreign_memory.shares.grant("bob")).state == "offered"
    await everybody.shares.set_policy("ask")
    assert await readable_ids(memory, "bob") == [accepted.grant_id], "active grants stay active"
    assert await memory.shares.list(state="offered") == [offered]
    outcome, intent, *_ = await everybody.audit.list(action="set_grant_policy")
    assert (intent.target, intent.owner, outcome.phase) == ("ask", None, "succeeded")
    with pytest.raises(InvalidInputError, match="policy must be one of ask, accept_all"):
        await everybody.shares.set_policy("none")  # type: ignore[arg-type]


async def test_accepting_and_dropping_are_audited_as_acts_of_the_reader(memory: AsyncMemory) -> None:
    grant = await accepted_grant(memory, "bob")
    await memory.shares.drop(grant.grant_id, owner="bob")
    acts = await memory.audit.list(owner="bob")
    assert [(act.action, act.phase) for act in acts] == [
        ("drop_share", "succeeded"),
        ("drop_share", "intent"),
        ("accept_share", "succeeded"),
        ("accept_share", "intent"),
    ]
    assert {(act.owner, act.target) for act in acts} == {("bob", str(grant.grant_id))}
    assert (acts[0].detail, acts[2].detail) == ({"dropped_count": 1}, {"accepted_count": 1})
    assert "alice" not in str(acts)


async def test_granting_and_revoking_are_audited_without_the_readers_name(memory: AsyncMemory) -> None:
    grant = await memory.shares.grant(
        "bob", channel="project", categories=["factual"], tags=["food"], expires_at=TOMORROW, reason="for bob"
    )
    await memory.shares.revoke(grant.grant_id, reason="bob is gone")
    revoked, revoking, granted, granting = acts = await memory.audit.list()
    assert [(act.action, act.phase) for act in acts] == [
        ("revoke_share", "succeeded"),
        ("revoke_share", "intent"),
        ("grant_share", "succeeded"),
        ("grant_share", "intent"),
    ]
    assert {(act.owner, act.target) for act in acts} == {("alice", str(grant.grant_id))}
    assert (granted.intent_id, revoked.intent_id) == (granting.audit_id, revoking.audit_id)
    assert granting.detail == {
        "channel": "project",
        "categories": ["factual"],
        "tags": ["food"],
        "expires_at": TOMORROW.isoformat(),
    }
    assert revoked.detail == {"revoked_count": 1}
    assert "bob" not in str(acts)


async def test_a_grant_that_fails_is_audited_as_failed_without_the_readers_name(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "PAIR_MAX", 0)
    with pytest.raises(ConflictError):
        await memory.shares.grant("bob")
    failed, intent = acts = await memory.audit.list()
    assert (failed.phase, failed.intent_id, failed.detail["error"]) == (
        "failed",
        intent.audit_id,
        "ConflictError",
    )
    assert "bob" not in str(acts)
    assert await memory.shares.list(include_ended=True) == []


@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE state.grants SET granted_to = 'mallory'",
        "UPDATE state.grants SET owner = 'carol'",
        "UPDATE state.grants SET channel = NULL",
        "UPDATE state.grants SET expires_at = NULL",
        "DELETE FROM state.grants",
        "TRUNCATE state.grants",
        "ALTER TABLE state.grants DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
    ],
)
async def test_the_application_can_revoke_a_grant_and_nothing_else(
    memory: AsyncMemory, tenant_a: Tenant, connect_as: ConnectAs, attack: str
) -> None:
    grant = await memory.shares.grant("bob", channel="project", expires_at=TOMORROW)
    with pytest.raises(pg.InsufficientPrivilege):
        connect_as(tenant_a).execute(attack)
    assert await memory.shares.list() == [grant]


@pytest.mark.parametrize("change", ["revoked_at = NULL", "revoked_at = 'infinity'", "revoking_reason = 'x'"])
async def test_a_revoked_grant_cannot_be_revived(
    memory: AsyncMemory, tenant_a: Tenant, connect_as: ConnectAs, change: str
) -> None:
    grant = await memory.shares.grant("bob")
    revoked = await memory.shares.revoke(grant.grant_id)
    with pytest.raises(pg.CheckViolation, match="stays as it is"):
        connect_as(tenant_a).execute(f"UPDATE state.grants SET {change}")
    assert await memory.shares.list(include_ended=True) == [revoked]


async def test_nobody_can_grant_in_another_tenant(
    memory: AsyncMemory, tenant_b: Tenant, connect_as: ConnectAs
) -> None:
    forged = "INSERT INTO state.grants (tenant_id, owner, granted_to, process) VALUES (%s, 'a', 'b', 'p')"
    with pytest.raises(pg.InsufficientPrivilege, match="row-level security"):
        connect_as(tenant_b).execute(forged, [memory.tenant.id])


async def test_recalls_question_and_the_lists_go_by_their_indexes(
    place_a: TenantDatabase, admin: AppConnection
) -> None:
    """In a table of many grants, most of them revoked, nobody walks through those of others."""
    admin.execute(
        "INSERT INTO state.grants (tenant_id, owner, granted_to, process, accepted_at, revoked_at)"
        " SELECT %s, 'giver ' || n %% 100, 'reader ' || n %% 97, 'p',"
        " CASE WHEN n %% 3 = 0 THEN now() END, CASE WHEN n %% 10 > 0 THEN now() END"
        " FROM generate_series(1, 20000) AS n",
        [place_a.tenant.id],
    )
    admin.execute("ANALYZE state.grants")

    async def plan(name: str, **parameters: object) -> str:
        async with place_a.transaction() as transaction:
            cursor = await transaction.connection.execute(
                f"EXPLAIN {query(name)}".encode(), transaction.values(name, parameters)
            )
            return "\n".join(row["QUERY PLAN"] for row in await cursor.fetchall())

    readable_plan = await plan("shares.readable", granted_to="reader 7")
    assert "grants_readable" in readable_plan
    assert "grants_held" not in readable_plan, "nobody walks through all givers"
    assert "Seq Scan on grants" not in readable_plan
    assert "grants_to_groups" in readable_plan
    counted = await plan("shares.counts", owner="giver 7", granted_to="reader 7")
    assert {"grants_readable", "grants_offered", "grants_held"} <= set(re.findall(r"grants_\w+", counted))
    assert "Seq Scan on grants" not in counted
    states = list(GRANT_STATES)
    page = {"owner": "reader 7", "before_at": None, "before_id": None, "states": states, "limit": 20}
    list_plan = await plan("shares.list", **page, given=True, received=True)
    for index in ("grants_given", "grants_received", "grants_received_by_groups"):
        assert index in list_plan
    assert "Seq Scan on grants" not in list_plan
