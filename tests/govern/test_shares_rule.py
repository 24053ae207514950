"""The rule of active grants, against a model in a few lines: accepted, not revoked, dropped or expired."""

import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemic.db.database import Database
from mnemic.errors import ConflictError
from mnemic.govern.shares import readable_grants
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.share import OPEN_STATES, GrantState
from tests.conftest import AppConnection
from tests.opened import core_of, opened

OWNERS = ("alice", "bob", "carol")
PLACE = st.integers(0, 20)
PAIR = st.tuples(st.sampled_from(OWNERS), st.sampled_from(OWNERS)).filter(lambda pair: pair[0] != pair[1])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("grant"), st.tuples(PAIR, st.booleans())),
        st.tuples(st.just("accept"), PLACE),
        st.tuples(st.just("accept"), PLACE),
        st.tuples(st.just("drop"), PLACE),
        st.tuples(st.just("revoke"), PLACE),
        st.tuples(st.just("expire"), PLACE),
        st.tuples(st.just("erase"), st.sampled_from(OWNERS)),
    ),
    max_size=12,
)
EXPIRE = (
    "UPDATE state.grants SET created_at = created_at - interval '1 h', expires_at = created_at"
    " WHERE grant_id = %s AND expires_at IS NOT NULL AND revoked_at IS NULL"
    " AND dropped_at IS NULL"
)


@dataclass(frozen=True)
class Expected:
    """What the model knows of a grant."""

    giver: str
    reader: str
    can_expire: bool
    state: GrantState = "offered"


class Model:
    """Does each step to the memory and to a dictionary."""

    def __init__(self, memory: AsyncMemory, admin: AppConnection) -> None:
        self._memory = memory
        self._admin = admin
        self.grants: dict[UUID, Expected] = {}

    async def do(self, step: str, argument: Any) -> None:
        if step == "grant":
            (giver, reader), can_expire = argument
            expires_at = datetime.now(UTC) + timedelta(days=1) if can_expire else None
            made = await self._memory.shares.grant(reader, expires_at=expires_at, owner=giver)
            self.grants[made.grant_id] = Expected(giver, reader, can_expire)
        elif step == "erase":
            await self._memory.admin.erase(argument)
            self.grants = {
                key: grant
                for key, grant in self.grants.items()
                if argument not in (grant.giver, grant.reader)
            }
        elif self.grants:
            await self._change(step, list(self.grants)[argument % len(self.grants)])

    async def _change(self, step: str, grant_id: UUID) -> None:
        """Who else tries to accept, drop or revoke is refused: see the tests of single calls."""
        grant, shares = self.grants[grant_id], self._memory.shares
        is_open = grant.state in OPEN_STATES
        if step == "accept" and is_open:
            await shares.accept(grant_id, owner=grant.reader)
            self.grants[grant_id] = replace(grant, state="active")
        elif step == "accept":
            with pytest.raises(ConflictError):
                await shares.accept(grant_id, owner=grant.reader)
        elif step == "drop":
            await shares.drop(grant_id, owner=grant.reader)
            if is_open or grant.state == "expired":
                self.grants[grant_id] = replace(grant, state="dropped")
        elif step == "revoke":
            await shares.revoke(grant_id, owner=grant.giver)
            if is_open or grant.state == "expired":
                self.grants[grant_id] = replace(grant, state="revoked")
        else:
            self._admin.execute(EXPIRE, [grant_id])
            if is_open and grant.can_expire:
                self.grants[grant_id] = replace(grant, state="expired")

    def readable(self, reader: str) -> set[UUID]:
        """The ids of active grants to a reader."""
        return {
            key for key, grant in self.grants.items() if grant.state == "active" and grant.reader == reader
        }

    def given(self, giver: str) -> dict[UUID, GrantState]:
        """The states of the grants of a giver."""
        return {key: grant.state for key, grant in self.grants.items() if grant.giver == giver}


@given(steps=STEPS)
@settings(
    max_examples=60 if "SLOW_TESTS" in os.environ else 15,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
async def test_exactly_the_active_grants_let_their_readers_read(
    database: Database, admin: AppConnection, steps: list[tuple[str, Any]]
) -> None:
    memory = opened(database, await database.open_tenant(f"tenant {uuid4()}"))
    model = Model(memory, admin)
    for step, argument in steps:
        await model.do(step, argument)
        for owner in OWNERS:
            async with core_of(memory).storage.tenant_database.transaction() as transaction:
                readable = await readable_grants(transaction, owner)
            assert {grant.grant_id for grant in readable} == model.readable(owner)
            listed = await memory.shares.list(include_ended=True, owner=owner)
            assert {grant.grant_id: grant.state for grant in listed} == model.given(owner)
