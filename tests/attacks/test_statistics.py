"""What the server's own statistics tell one tenant about another: estimates, activity, sessions.

Two databases differ only in what tenant B has stored. Tenant A explains many queries in both: every estimate
and every plan must be the same. All tenants share one login, so A must not see or end B's sessions either.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from mnemic.db.access import DATABASE_NAME, Access
from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.db.tenancy import Tenant
from tests.conftest import AppConnection, ConnectAs, Databases, access_to
from tests.proofs import begin_as

A = Tenant(UUID("01900000-0000-7000-8000-00000000000a"), "a")
B = Tenant(UUID("01900000-0000-7000-8000-00000000000b"), "b")

# As many rows of the same size in both databases; {one} is 1 or 2, and all that B has depends on it.
FILL = """
INSERT INTO state.tenants (tenant_id, name) VALUES ('{a}', 'a'), ('{b}', 'b');
CREATE FUNCTION pg_temp.id(number int) RETURNS uuid LANGUAGE sql IMMUTABLE
RETURN ('01900000-0000-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid;
INSERT INTO state.memories (
    tenant_id, memory_id, owner, channel, process, content, category, source, confidence, salience,
    reinforcement_count, at, valid_from, tags, metadata, anchored
)
SELECT '{b}', pg_temp.id(number), 'owner {one}', 'channel {one}', 'test',
    format('text {one}%s', number + 1000), CASE {one} WHEN 1 THEN 'behavioral' ELSE 'procedural' END,
    'imported',
    number % 9 / 9.0 / {one}, number % 7 / 7.0 / {one}, number % 5 * {one},
    timestamptz '2020-01-01' + number * {one} * interval '1 day',
    timestamptz '2020-01-01' + number * {one} * interval '1 hour', ARRAY['tag {one}'],
    jsonb_build_object('key', {one}), {one} = 1
FROM generate_series(1, 1000) AS number;
INSERT INTO state.metrics_events (tenant_id, event_id, owner, channel, process, kind, name, value, unit, at)
SELECT '{b}', pg_temp.id(number), 'owner {one}', '_global', 'test',
    CASE {one} WHEN 1 THEN 'recall' ELSE 'retain' END, 'name {one}', number * {one}, 'unit',
    timestamptz '2020-01-01' + number * {one} * interval '1 day'
FROM generate_series(1, 1000) AS number;
INSERT INTO state.revenue_events (tenant_id, event_id, owner, channel, process, amount, currency, source, at)
SELECT '{b}', pg_temp.id(number), 'owner {one}', '_global', 'test', 1000 * {one} + number, 'EUR',
    'source {one}',
    timestamptz '2020-01-01' + number * {one} * interval '1 day'
FROM generate_series(1, 1000) AS number;
INSERT INTO queue.jobs (tenant_id, job_id, type, payload, priority, run_at)
SELECT '{b}', pg_temp.id(number), 'type:{one}', jsonb_build_object('key', {one}), {one},
    timestamptz '2020-01-01' + number * {one} * interval '1 day'
FROM generate_series(1, 1000) AS number;
ANALYZE;
"""
# The same with the statistics of one column, to see that the test notices a difference.
WEAKEN = """
ALTER TABLE state.metrics_events ALTER COLUMN value SET STATISTICS -1;
ANALYZE state.metrics_events;
"""

# Ids and the tenant keep some statistics, which tell nothing of the content; see mnemic.withhold_statistics.
COLUMNS = """
SELECT nspname, relname, attname, typname
FROM pg_attribute
JOIN pg_class ON pg_class.oid = attrelid
JOIN pg_namespace ON pg_namespace.oid = relnamespace
JOIN pg_type ON pg_type.oid = atttypid
WHERE nspname IN ('state', 'vectors', 'traces', 'queue') AND relkind IN ('r', 'p') AND reltuples > 0
  AND attnum > 0 AND NOT attisdropped AND typname <> 'uuid'
ORDER BY 1, 2, attnum
"""
NUMBERS = ("-1", "0.5", "1", "2", "7", "1500", "2500", "30000")
TIMES = ("2019-01-01", "2020-01-05", "2022-01-01", "2024-01-01", "2026-01-01", "2100-01-01")
GUESSES = {
    **dict.fromkeys(("int2", "int4", "int8"), tuple(each for each in NUMBERS if "." not in each)),
    **dict.fromkeys(("float4", "float8", "numeric"), NUMBERS),
    **dict.fromkeys(("timestamptz", "date"), TIMES),
    "text": ("owner 1", "owner 2", "behavioral", "recall", "type:1", "z"),
    "bool": ("true", "false"),
    "jsonb": ('{"key": 1}', '{"key": 2}'),
}
PROBES = (
    sql.SQL("EXPLAIN SELECT FROM {table} WHERE {column} = {guess}"),
    sql.SQL("EXPLAIN SELECT FROM {table} WHERE {column} < {guess}"),
    sql.SQL("EXPLAIN SELECT FROM {table} WHERE {column} > {guess} ORDER BY {column} LIMIT 1"),
)
PROBES_WITHOUT_GUESS = (
    sql.SQL("EXPLAIN SELECT FROM {table} WHERE {column} IS NULL"),
    sql.SQL("EXPLAIN SELECT FROM {table} GROUP BY {column}"),
    sql.SQL("EXPLAIN SELECT FROM {table} JOIN {table} AS other USING ({column})"),
)


@dataclass(frozen=True)
class Filled:
    """One of the two databases: the superuser's connection, and one of A in a transaction."""

    admin: AppConnection
    as_a: AppConnection

    def estimates(self) -> dict[str, str]:
        """Everything that A learns, by statement."""
        return {
            statement.as_string(self.as_a): str(self.as_a.execute(statement).fetchall())
            for column in self.admin.execute(COLUMNS).fetchall()
            for statement in statements_about(*map(str, column))
        }


def statements_about(schema: str, table: str, column: str, kind: str) -> Iterator[sql.Composed]:
    names: dict[str, Any] = {"table": sql.Identifier(schema, table), "column": sql.Identifier(column)}
    for guess in GUESSES.get(kind, ()):
        for probe in PROBES:
            literal = sql.SQL("{}::{}").format(sql.Literal(guess), sql.Identifier(kind))
            yield probe.format(**names, guess=literal)
    for probe in PROBES_WITHOUT_GUESS:
        yield probe.format(**names)


@pytest.fixture(scope="module")
def both(template_access: Access, databases: Databases, server: EmbeddedServer) -> Iterator[list[Filled]]:
    """The two databases, which differ only in what B has stored."""
    names = [databases.make(template=DATABASE_NAME) for _ in range(2)]
    filled = []
    for one, name in enumerate(names, start=1):
        admin = psycopg.connect(server.conninfo(user=ADMIN_ROLE, dbname=name), autocommit=True)
        admin.execute(FILL.format(a=A.id, b=B.id, one=one).encode())
        access = access_to(template_access, name)
        as_a = psycopg.connect(access.conninfo(), autocommit=True)
        begin_as(as_a, access.key, A)
        filled.append(Filled(admin, as_a))
    yield filled
    for each in filled:
        each.as_a.close()
        each.admin.close()
    for name in names:
        databases.give_back(name)


def differences(both: list[Filled]) -> list[str]:
    """Statements whose plans differ: with each of them A learns something about B."""
    first, second = (each.estimates() for each in both)
    assert first.keys() == second.keys()
    assert len(first) > 500, "B has stored something"
    return [f"{text}\n{first[text]}\n{second[text]}" for text in first if first[text] != second[text]]


def test_estimates_do_not_depend_on_what_another_tenant_has_stored(both: list[Filled]) -> None:
    assert differences(both) == []


def test_no_statistics_hold_a_value_that_a_tenant_has_stored(both: list[Filled]) -> None:
    for each in both:
        each.admin.execute("ANALYZE")
        held = each.admin.execute(
            "SELECT DISTINCT attname, n_distinct FROM pg_stats WHERE schemaname IN"
            " ('state', 'vectors', 'traces', 'queue') AND attname !~ '_id$'"
        )
        assert held.fetchall() == []


def test_estimates_would_depend_on_it_with_statistics_on_a_single_number(both: list[Filled]) -> None:
    for each in both:
        each.admin.execute(WEAKEN)
    found = differences(both)
    assert found
    assert all('"value"' in text for text in found)


@pytest.mark.parametrize("target", [-1, 0])
def test_statistics_of_an_earlier_version_are_removed(both: list[Filled], target: int) -> None:
    """Also after their target was set to 0, which alone removes nothing."""
    admin = both[0].admin
    admin.execute(WEAKEN)
    admin.execute(f"ALTER TABLE state.metrics_events ALTER COLUMN value SET STATISTICS {target}".encode())
    held = "SELECT attname, n_distinct FROM pg_stats WHERE tablename = 'metrics_events' ORDER BY attname"
    assert admin.execute(held).fetchall() == [("event_id", -1.0), ("tenant_id", 1.0), ("value", -1.0)]
    admin.execute("CALL mnemic.withhold_all_statistics()")
    assert admin.execute(held).fetchall() == [("event_id", -1.0), ("tenant_id", 1.0)]


VISIBLE_ACTIVITY = (
    "SELECT query FROM pg_stat_activity",
    "SELECT * FROM pg_stat_get_activity(NULL)",
    "SELECT pg_stat_get_backend_activity(backend) FROM pg_stat_get_backend_idset() AS backend",
    "SELECT * FROM pg_stat_database",
    "SELECT * FROM pg_stat_all_tables",
    "SELECT * FROM pg_stat_user_indexes",
    "SELECT * FROM pg_statio_all_tables",
    "SELECT * FROM pg_stat_user_functions",
    "SELECT * FROM pg_stat_progress_create_index",
    "SELECT * FROM pg_stat_progress_copy",
    "SELECT * FROM pg_stat_ssl",
    "SELECT * FROM pg_stat_replication",
    "SELECT * FROM pg_stat_wal",
    "SELECT pg_stat_get_xact_tuples_inserted('state.memories'::regclass)",
    "SELECT pg_stat_get_live_tuples('state.memories'::regclass)",
    "SELECT pg_stat_get_last_analyze_time('state.memories'::regclass)",
    "SELECT * FROM pg_locks",
    "SELECT * FROM pg_prepared_xacts",
    "SELECT pg_blocking_pids({pid})",
    "SELECT pg_current_wal_lsn()",
    "SELECT pg_notification_queue_usage()",
    "SELECT * FROM pg_control_checkpoint()",
    "SELECT * FROM pg_replication_slots",
)
DISTURBANCES = (
    "SELECT pg_terminate_backend({pid})",
    "SELECT pg_cancel_backend({pid})",
    "SELECT lo_from_bytea(0, 'left for another tenant')",
    "SELECT lo_create(0)",
    "SELECT lo_creat(-1)",
    "SELECT pg_logical_emit_message(false, 'much', repeat('x', 1000))",
    "CALL mnemic.withhold_activity()",
    "CALL mnemic.withhold_statistics('state.memories')",
    "CALL mnemic.withhold_all_statistics()",
)


def test_sessions_of_other_tenants_are_neither_shown_nor_ended(
    connect_as: ConnectAs, tenant_a: Tenant, tenant_b: Tenant, subtests: pytest.Subtests
) -> None:
    of_b = connect_as(tenant_b)
    for statement in VISIBLE_ACTIVITY + DISTURBANCES:
        with subtests.test(statement), pytest.raises(psycopg.errors.InsufficientPrivilege):
            connect_as(tenant_a).execute(statement.format(pid=of_b.info.backend_pid).encode())
    assert of_b.execute("SELECT 1").fetchall() == [(1,)]


def test_activity_is_withheld_from_the_public_and_left_to_monitoring(
    connect_as: ConnectAs, tenant_a: Tenant, admin: AppConnection
) -> None:
    assert connect_as(tenant_a).execute("SELECT mnemic.open_activity_functions()").fetchall() == []
    admin.execute("BEGIN; CREATE ROLE watcher IN ROLE pg_monitor; SET LOCAL ROLE watcher")
    assert admin.execute("SELECT query FROM pg_stat_activity").fetchall()
    admin.execute("ROLLBACK")
    admin.execute("GRANT EXECUTE ON FUNCTION pg_lock_status() TO PUBLIC")
    open_ones = connect_as(tenant_a).execute("SELECT mnemic.open_activity_functions()::text")
    assert open_ones.fetchall() == [("pg_lock_status()",)]
