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
    INSERT INTO state.tenants (name) VALUES ('large');
    INSERT INTO state.memories (
        tenant_id, owner, channel, process, conversation, position, role, name, content, category, tags,
        source, at
    )
    SELECT tenant_id, 'alice', '_global', 'test', 'c' || n / 50, n % 50, 'user',
        CASE WHEN n = 77 THEN 'Zoe' END,
        'Memory ' || n || ' says that Bob went to ' || (ARRAY['Berlin', 'Rome', 'Oslo'])[1 + n % 3],
        (ARRAY['factual', 'preference', 'episodic'])[1 + n % 3],
        CASE WHEN n % 5000 = 0 THEN ARRAY['rare'] ELSE '{{}}' END, 'imported',
        now() - ({ROWS} - n) * interval '1 min'
    FROM state.tenants, generate_series(1, {ROWS}) AS n;
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
}


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
            assert 0 < pages_read(large, "memory_lists.list", given, order=order, limit=50) < PAGES_MAX


def test_facets_are_bounded(large: tuple[AppConnection, object]) -> None:
    pages = pages_read(large, "memory_lists.facets", {}, limit=101, values_max=30)
    assert 0 < pages < PAGES_MAX


def pages_read(
    large: tuple[AppConnection, object], name: str, given: dict[str, Any], **parameters: Any
) -> int:
    """How many pages a query reads with this filter."""
    connection, tenant_id = large
    wanted = tuple({**EVERY, "statuses": ["active"], **given}.values())
    statement = f"EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off, FORMAT json) {query(name)}"
    asked = {"tenant_id": tenant_id, "owner": "alice", "filter": wanted, "before": None, **parameters}
    connection.execute(statement.encode(), asked)  # The first call reads the catalog, too.
    ((found,),) = connection.execute(statement.encode(), asked).fetchall()
    plan = found[0]["Plan"]  # type: ignore[index]
    return int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"])
