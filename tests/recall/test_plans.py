"""With 40,000 memories of one owner, recall uses indexes, as the application's role.

The server counts the scans of each index and each table, and the rows fetched. A recall runs on a pool of one
connection, which then flushes its counters, so that they include nothing else.
"""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from mnemic.db.access import DATABASE_NAME, Access
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.recall.index_maintenance import refresh_word_statistics
from mnemic.sdk.memory import AsyncMemory
from tests.accepted_grants import accepted_grant
from tests.conftest import LIMITS, AppConnection, Databases, access_to, open_database
from tests.opened import core_of, opened

MEMORIES = 40_000
FETCHED_MAX = 5_000
"""Rows that a recall may fetch: a fraction of its owner's, and far fewer than all owners' together."""
FETCHED_BY_FEW_MAX = 200
TURNS = 100

# Each text has a frequent word, a common one, a rare one, and a number. Many tenants with one memory each
# make the planner assume that every tenant and every owner has few.
FILL = f"""
    INSERT INTO state.tenants (name) VALUES ('large') ON CONFLICT DO NOTHING;
    INSERT INTO state.conversations (tenant_id, owner, conversation, channel)
    SELECT tenant_id, 'alice', 'talk ' || number, '_global'
    FROM state.tenants, generate_series(0, {MEMORIES // TURNS // 2}) AS number
    WHERE name = 'large';
    INSERT INTO state.memories (
        tenant_id, owner, channel, process, content, category, source, tags, at, conversation, "position",
        metadata
    )
    SELECT
        tenant_id, 'alice', '_global', 'test',
        format('memory number %s of usual%s and rare%s', number, number % 40, number % 9973),
        'factual', 'imported',
        ARRAY['tag' || number % 997], timestamptz '2020-01-01' + number * interval '10 min',
        CASE WHEN number < {MEMORIES // 2} THEN 'talk ' || number / {TURNS} END,
        CASE WHEN number < {MEMORIES // 2} THEN number % {TURNS} END,
        CASE WHEN number % 10 = 0 THEN jsonb_build_object('document', 'guide ' || number % 997)
        ELSE '{{}}' END
    FROM state.tenants, generate_series(0, {MEMORIES} - 1) AS number
    WHERE name = 'large';
    INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
    SELECT tenant_id, 'bob', '_global', 'test', 'memory number ' || number || ' of bob', 'factual', 'imported'
    FROM state.tenants, generate_series(1, 10) AS number
    WHERE name = 'large';
    WITH small AS (
        INSERT INTO state.tenants (name) SELECT 'small ' || number FROM generate_series(1, 500) AS number
        RETURNING tenant_id
    )
    INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
    SELECT tenant_id, 'alice', '_global', 'test', 'memory of rare7', 'factual', 'imported' FROM small;
    INSERT INTO state.memory_versions
    SELECT version.*
    FROM
        state.memories,
        jsonb_build_object(
            'known_until', timestamptz '2021-01-01', 'recorded_at', timestamptz '2020-06-01',
            'retrieval_count', 0
        ) AS past,
        -- Not in the list of columns: there, it would be computed once for each of them.
        jsonb_populate_record(NULL::state.memory_versions, to_jsonb(memories) || past) AS version
    WHERE memories.owner = 'alice' AND memories."position" IS NULL;
    ANALYZE state.memories, state.memory_versions, state.conversations;
"""
COUNTERS = """
    SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE schemaname = 'state'
    UNION ALL
    SELECT relname || ': scans', seq_scan FROM pg_stat_user_tables WHERE schemaname = 'state'
    UNION ALL
    SELECT relname || ': rows', idx_tup_fetch FROM pg_stat_user_tables WHERE schemaname = 'state'
"""


@dataclass
class Watched:
    """A memory, and the counters of its recalls."""

    memory: AsyncMemory
    admin: AppConnection

    async def recall(self, query: str, **options: Any) -> dict[str, int]:
        """Recall; returns by how much each counter grew, without those that did not."""
        before = await self._counters()
        found = await self.memory.recall(query, refuse_below=0, **options)
        assert found, "a search that finds nothing shows nothing"
        after = await self._counters()
        return {name: after[name] - before[name] for name in after if after[name] != before[name]}

    async def _counters(self) -> dict[str, int]:
        async with core_of(self.memory).storage.tenant_database.transaction() as transaction:
            await transaction.connection.execute("SELECT pg_stat_force_next_flush()")
        return {str(name): int(str(count or 0)) for name, count in self.admin.execute(COUNTERS).fetchall()}


@pytest.fixture(scope="module")
def large_name(template_access: Access, databases: Databases, server: EmbeddedServer) -> Iterator[str]:
    """A database with a large owner, created once."""
    name = databases.make(template=DATABASE_NAME)
    with psycopg.connect(server.conninfo(user=ADMIN_ROLE, dbname=name), autocommit=True) as admin:
        admin.execute(FILL.encode())
    yield name
    databases.give_back(name)


@pytest.fixture
async def watched(template_access: Access, large_name: str, server: EmbeddedServer) -> AsyncIterator[Watched]:
    """Alice's memory, with statistics and one vector, so that no background task runs."""
    limits = replace(LIMITS, pool_size=1)
    conninfo = server.conninfo(user=ADMIN_ROLE, dbname=large_name)
    async with open_database(access_to(template_access, large_name), limits) as database:
        memory = opened(database, await database.open_tenant("large"), embedder="test")
        await memory.retain("a kayak")
        await refresh_word_statistics(core_of(memory), "alice")
        with psycopg.connect(conninfo, autocommit=True) as admin:
            yield Watched(memory, admin)


def assert_found_by(used: dict[str, int], *indexes: str, fetched_max: int = FETCHED_MAX) -> None:
    for index in indexes:
        assert used.get(index, 0) > 0, used
    assert used.get("memories: scans", 0) == 0, used
    assert used.get("memory_versions: scans", 0) == 0, used
    fetched = used.get("memories: rows", 0) + used.get("memory_versions: rows", 0)
    assert 0 < fetched <= fetched_max, used


@pytest.mark.parametrize(
    "query", ["rare7", "usual3", "usual3 rare7", "memory number 4711", "kayak", '"usual7 and rare7"']
)
async def test_words_are_found_by_their_index(watched: Watched, query: str) -> None:
    assert_found_by(await watched.recall(query, techniques=["text"]), "memories_words")


async def test_words_that_every_memory_has_do_not_read_every_memory(watched: Watched) -> None:
    used = await watched.recall("memory number usual7 kayak", techniques=["text", "neighbours"])
    assert_found_by(used, "memories_words")


@pytest.mark.parametrize(
    ("options", "index"),
    [
        ({"tags": ["tag7"]}, "memories_words"),
        ({"conversation": "talk 0"}, "memories_turn"),
        ({"metadata": {"document": "guide 10"}}, "memories_metadata"),
        ({"document": "guide 10", "since": "2020-01-01T00:00:00Z"}, "memories_metadata"),
        ({"since": "2020-01-01T00:00:00Z", "until": "2020-01-02T00:00:00Z"}, "memories_happened"),
        ({"tags": ["tag7"], "until": "2020-01-02T00:00:00Z"}, "memories_words"),
    ],
)
async def test_filters_are_found_by_their_index(
    watched: Watched, options: dict[str, Any], index: str
) -> None:
    """A filter that leaves few memories is searched first, and their vectors are compared."""
    used = await watched.recall("rare7", **options, techniques=["vector", "text"])
    without = await watched.recall("rare7", **options, techniques=["text"])
    assert_found_by(used, index, fetched_max=3_000)
    assert used[index] > without.get(index, 0), "the search by the filter itself"


@pytest.mark.parametrize(
    ("scope", "index"),
    [({"tags": ["tag7"]}, "memories_words"), ({"conversation": "talk 0"}, "memories_turn")],
)
async def test_few_granted_memories_are_read_without_the_others(
    watched: Watched, scope: dict[str, Any], index: str
) -> None:
    """Also where every memory of the giver has the words of the query."""
    reader = f"reader of {index}"
    await accepted_grant(watched.memory, reader, **scope)
    used = await watched.recall("memory number rare7", owner=reader)
    assert_found_by(used, index, fetched_max=1_000)


async def test_metadata_among_many_granted_memories_is_found_by_its_index(watched: Watched) -> None:
    await accepted_grant(watched.memory, "reader of everything", channel="_global")
    used = await watched.recall("memory number rare7", owner="reader of everything", document="guide 7")
    assert_found_by(used, "memories_metadata", fetched_max=1_000)


async def test_a_time_in_the_query_is_found_by_its_index(watched: Watched) -> None:
    used = await watched.recall("what was yesterday?", at="2020-03-01T12:00:00Z", techniques=["time"])
    assert_found_by(used, "memories_happened", fetched_max=2_000)


async def test_turns_around_are_found_by_their_index(watched: Watched) -> None:
    used = await watched.recall("rare7", techniques=["text", "neighbours"])
    assert_found_by(used, "memories_turn", fetched_max=2_000)


@pytest.mark.parametrize("query", ["rare20011 rare7", "usual33 rare7"])
async def test_the_past_is_found_by_its_own_index(watched: Watched, query: str) -> None:
    moment = datetime(2020, 7, 1, tzinfo=UTC)
    used = await watched.recall(query, as_of=moment)
    assert_found_by(used, "memory_versions_words", "memories_words")


async def test_a_small_owner_does_not_pay_for_a_large_one(watched: Watched) -> None:
    used = await watched.recall("memory number 7", owner="bob")
    assert_found_by(used, "memories_words", fetched_max=FETCHED_BY_FEW_MAX)


async def test_the_functions_of_recall_are_planned_once_per_connection(watched: Watched) -> None:
    settings = watched.admin.execute(
        "SELECT proname, 'plan_cache_mode=force_generic_plan' = ANY(proconfig), prorows FROM pg_proc"
        " WHERE pronamespace = 'mnemic'::regnamespace"
        " AND proname IN ('candidate_features', 'lexical_candidates')"
        " ORDER BY proname"
    )
    assert settings.fetchall() == [("candidate_features", True, 1.0), ("lexical_candidates", True, 1.0)]
