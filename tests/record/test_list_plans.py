"""Lists of memories of a large owner read few pages, also without statistics.

The plans are inside of a function, so the pages that it reads are counted instead of looking at a plan.
"""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from mnemic.db.access import DATABASE_NAME, Access
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.tenancy import Tenant
from mnemic.record.memory_lists import MemoryFilter
from mnemic.sql import query
from tests.conftest import AppConnection, Databases, access_to
from tests.proofs import begin_as

ROWS = 20_000
# Reading all memories of the owner takes more than 2,000 pages, trying the newest 4,000 for words some 500.
PAGES_MAX = 1_400
FILL = f"""
    SET session_replication_role = replica;
    -- VACUUM marks only those pages as visible to all whose commit is on the disk.
    SET synchronous_commit = on;
    INSERT INTO state.tenants (name) VALUES ('large');
    INSERT INTO state.memories (
        tenant_id, memory_id, owner, channel, process, conversation, position, role, name, content, category,
        tags, source, status, at, created_at, recorded_at
    )
    SELECT tenant_id,
        overlay(gen_random_uuid()::text PLACING left(mnemic.first_id_at(at)::text, 13) FROM 1)::uuid,
        'alice', '_global', 'test', 'c' || n / 50, n % 50, CASE WHEN n = 78 THEN 'system' ELSE 'user' END,
        CASE WHEN n = 77 THEN 'Zoe' END,
        'Memory ' || n || ' says that Bob went to ' || (ARRAY['Berlin', 'Rome', 'Oslo'])[1 + n % 3],
        CASE WHEN n = 79 THEN 'reference' ELSE (ARRAY['factual', 'preference', 'episodic'])[1 + n % 3] END,
        CASE WHEN n % 5000 = 0 THEN ARRAY['rare'] ELSE '{{}}' END,
        CASE WHEN n = 80 THEN 'inferred' ELSE 'imported' END,
        CASE WHEN n IN (81, 19000) THEN 'archived' ELSE 'active' END,
        at, at, at
    FROM state.tenants, generate_series(1, {ROWS}) AS n,
        LATERAL (SELECT timestamptz '2026-01-01' + n * interval '1 min' AS at) AS times;
    -- An import stored this one long after it was recorded.
    UPDATE state.memories SET created_at = '2026-01-01', recorded_at = '2026-01-01'
    WHERE position = 0 AND conversation = 'c390';
"""
EVERY: dict[str, Any] = dict.fromkeys(MemoryFilter.__dataclass_fields__)
FILTERS: dict[str, dict[str, Any]] = {
    "no filter": {},
    "a category": {"categories": ["preference"]},
    "a frequent word": {"words": "Berlin"},
    "a rare word": {"words": "77"},
    "a rare name": {"names": ["Zoe"]},
    "a rare tag": {"tags": ["rare"]},
    "a conversation": {"conversation": "c7"},
    "never recalled": {"never_recalled": True},
    "a role": {"roles": ["user"]},
    "a rare role": {"roles": ["system"]},
    "a rare category": {"categories": ["reference"]},
    "a rare source": {"sources": ["inferred"]},
    "a rare status": {"statuses": ["archived"]},
    "nothing": {"statuses": ["merged"]},
    "long ago": {"as_of": "2026-01-01T01:00:00Z"},
    "lately": {"as_of": "2026-01-14T12:00:00Z"},
    "a conversation long ago": {"as_of": "2026-01-03T00:00:00Z", "conversation": "c7"},
    "a rare status of then": {"as_of": "2026-01-12T00:00:00Z", "statuses": ["archived"]},
    "a rare source of then": {"as_of": "2026-01-12T00:00:00Z", "sources": ["inferred"]},
    "a rare role long ago": {"as_of": "2026-01-03T00:00:00Z", "roles": ["system"]},
}
FOUND = {"a rare role": 1, "a rare category": 1, "a rare source": 1, "a rare status": 2, "nothing": 0}
"""How many memories some of the filters match."""


@pytest.fixture(scope="module")
def large(
    template_access: Access, databases: Databases, server: EmbeddedServer
) -> Iterator[tuple[AppConnection, object]]:
    """A connection of the application in a transaction of a tenant with a large owner."""
    name = databases.make(template=DATABASE_NAME)
    with psycopg.connect(server.conninfo(user=ADMIN_ROLE, dbname=name), autocommit=True) as admin:
        admin.execute(FILL.encode())
        ((tenant_id,),) = admin.execute("SELECT tenant_id FROM state.tenants WHERE name = 'large'").fetchall()
        # Without ANALYZE: what vacuum does in the background does not give statistics of owners.
        admin.execute("VACUUM state.memories")
    access = access_to(template_access, name)
    with psycopg.connect(access.conninfo(), autocommit=True) as connection:
        begin_as(connection, access.key, Tenant(tenant_id, "large"))
        yield connection, tenant_id
    databases.give_back(name)


@pytest.mark.parametrize("order", ["newest", "oldest", "happened"])
def test_a_page_reads_few_pages(
    large: tuple[AppConnection, object], subtests: pytest.Subtests, order: str
) -> None:
    for label, given in FILTERS.items():
        with subtests.test(label):
            name = "memory_lists.list_past" if "as_of" in given else "memory_lists.list"
            past = {"channel": None, "as_of": given.get("as_of")}
            assert 0 < pages_read(large, name, given, order=order, limit=50, **past) < PAGES_MAX


def test_rare_values_and_backdated_memories_are_found(large: tuple[AppConnection, object]) -> None:
    for label, count in FOUND.items():
        assert len(listed(large, "memory_lists.list", FILTERS[label])) == count, label
    # The first sixty minutes, and the one that an import stored later.
    for order in ("newest", "oldest", "happened"):
        past = {"channel": None, "as_of": "2026-01-01T01:00:00Z", "order": order}
        assert len(listed(large, "memory_lists.list_past", {"as_of": past["as_of"]}, **past)) == 61


def test_a_full_page_as_of_a_time_has_earlier_versions(large: tuple[AppConnection, object]) -> None:
    connection, _ = large
    past = {"as_of": "2026-01-31", "words": "Memory"}
    connection.execute("SAVEPOINT before")
    connection.execute(
        "UPDATE state.memories SET content = 'Another text.' WHERE position = 10 AND conversation = 'c399'"
    )
    rows = listed(large, "memory_lists.list_past", past, channel=None, as_of=past["as_of"], limit=50)
    connection.execute("ROLLBACK TO before")
    assert len(rows) == 50
    assert any("Memory 19960 says" in str(row) for row in rows)


def test_the_indexes_of_lists_are_used(large: tuple[AppConnection, object]) -> None:
    connection, tenant_id = large
    wanted = "SELECT memory_id FROM state.memories WHERE tenant_id = %s AND owner = 'alice' AND "
    plans = {
        "status = 'merged' ORDER BY memory_id DESC": "Index Only Scan using memories_recent",
        "mnemic.is_backdated(memory_id, created_at)": "using memories_backdated",
    }
    for condition, expected in plans.items():
        statement = f"EXPLAIN (COSTS off) {wanted}{condition}"
        plan = "\n".join(str(row[0]) for row in connection.execute(statement.encode(), [tenant_id]))
        assert expected in plan


def test_facets_are_bounded(large: tuple[AppConnection, object]) -> None:
    pages = pages_read(large, "memory_lists.facets", {}, limit=101, values_max=30)
    assert 0 < pages < PAGES_MAX


def pages_read(
    large: tuple[AppConnection, object], name: str, given: dict[str, Any], **parameters: Any
) -> int:
    """How many pages a query reads with this filter."""
    connection, tenant_id = large
    statement = f"EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off, FORMAT json) {query(name)}"
    asked = asked_for(tenant_id, given, **parameters)
    connection.execute(statement.encode(), asked)  # The first call reads the catalog, too.
    ((found,),) = connection.execute(statement.encode(), asked).fetchall()
    plan = found[0]["Plan"]  # type: ignore[index]
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])


def listed(
    large: tuple[AppConnection, object], name: str, given: dict[str, Any], **parameters: Any
) -> list[Any]:
    """The memories that a query lists."""
    connection, tenant_id = large
    asked = asked_for(tenant_id, given, **{"order": "newest", "limit": 500, **parameters})
    return connection.execute(query(name).encode(), asked).fetchall()


def asked_for(tenant_id: object, given: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    """The parameters of a query of lists."""
    wanted = tuple({**EVERY, "statuses": ["active"], **given}.values())
    return {"tenant_id": tenant_id, "owner": "alice", "filter": wanted, "before": None, **parameters}
