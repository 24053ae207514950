"""The catalog of a migrated database: every table, function and role keeps tenants apart."""

from collections.abc import Iterator

import pytest

from mnemic.db.access import Access
from tests.conftest import AppConnection
from tests.db.catalog import CHECKS, COUNTED_COLUMNS

GOOD_TABLE = """
CREATE TABLE state.bad (
    tenant_id uuid NOT NULL REFERENCES state.tenants, id uuid, kind text, PRIMARY KEY (tenant_id, id)
);
CALL mnemic.protect('state.bad');
"""

# For each invariant a violation that it must find; `state.bad` is a correct table before that.
OFFENCES = {
    "every table has a tenant": [
        "ALTER TABLE state.bad DROP CONSTRAINT bad_pkey, ALTER tenant_id DROP NOT NULL",
        "CREATE TABLE vectors.wordy (tenant_id text PRIMARY KEY)",
        "CREATE TABLE traces.lonely (id uuid PRIMARY KEY)",
    ],
    "every table has row-level security, forced": [
        "ALTER TABLE state.bad DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE state.bad NO FORCE ROW LEVEL SECURITY",
        """CREATE TABLE queue.parted (tenant_id uuid NOT NULL, id int) PARTITION BY RANGE (id);
        CALL mnemic.protect('queue.parted');
        CREATE TABLE queue.part PARTITION OF queue.parted FOR VALUES FROM (1) TO (2)""",
    ],
    "every table has a policy": [
        "DROP POLICY same_tenant ON state.bad",
        "ALTER POLICY same_tenant ON state.bad TO mnemic_definer",
    ],
    "every policy for the application compares with the verified tenant": [
        "CREATE POLICY open ON state.bad USING (true)",
        "CREATE POLICY open ON state.bad TO mnemic_app USING (kind = 'public')",
        "CREATE POLICY open ON state.bad FOR INSERT WITH CHECK (true)",
        "ALTER POLICY same_tenant ON state.bad USING (tenant_id = current_setting('mnemic.tenant')::uuid)",
        "ALTER POLICY opening ON state.tenants WITH CHECK (true)",
    ],
    "no policy names the application's role, whose members could drop it with DROP OWNED": [
        "ALTER POLICY same_tenant ON state.bad TO mnemic_app, mnemic_definer",
    ],
    "every table has a primary key": ["ALTER TABLE state.bad DROP CONSTRAINT bad_pkey"],
    "every unique and every sorted index starts with the tenant": [
        "ALTER TABLE state.bad DROP CONSTRAINT bad_pkey, ADD PRIMARY KEY (id, tenant_id)",
        "CREATE UNIQUE INDEX bad_kind ON state.bad (kind)",
        "CREATE UNIQUE INDEX bad_kind ON state.bad (lower(kind), tenant_id)",
        "CREATE INDEX bad_kind ON state.bad (kind)",
        "ALTER TABLE state.bad ADD EXCLUDE USING btree (kind WITH =)",
    ],
    "every foreign key includes the tenant": [
        """CREATE UNIQUE INDEX bad_id ON state.bad (id);
        CREATE TABLE state.child (
            tenant_id uuid, id uuid, parent_id uuid REFERENCES state.bad (id), PRIMARY KEY (tenant_id, id)
        )""",
    ],
    "the application may select, insert, update and delete, and nothing else": [
        "GRANT TRUNCATE ON state.bad TO mnemic_app",
        "GRANT REFERENCES ON state.bad TO PUBLIC",
        "GRANT ALL ON state.bad TO mnemic_app",
        "GRANT SELECT ON state.bad TO mnemic_app WITH GRANT OPTION",
    ],
    "no column has statistics, unless it is listed": [
        "ALTER TABLE state.bad ALTER kind SET STATISTICS -1",
        "ALTER TABLE state.bad ALTER kind SET STATISTICS -1, ADD CHECK (kind IN ('one', 'two'))",
        "ALTER TABLE state.bad ADD amount numeric",
        "ALTER TABLE state.bad ADD at timestamptz",
        "ALTER TABLE state.bad ADD is_known boolean",
        "ALTER TABLE state.bad ADD parent_id uuid",
        "ALTER TABLE state.bad ALTER id SET STATISTICS 2",
        "CREATE INDEX bad_expression ON state.bad (tenant_id, lower(kind))",
    ],
    "there are no extended statistics": ["CREATE STATISTICS state.pairs ON id, kind FROM state.bad"],
    "every view checks the privileges of its caller": [
        "CREATE VIEW state.bad_view AS SELECT * FROM state.bad",
        "CREATE MATERIALIZED VIEW state.bad_view AS SELECT * FROM state.bad",
    ],
    "the application writes nothing in the schema mnemic": [
        "GRANT INSERT ON mnemic.migrations TO mnemic_app",
        "GRANT DELETE ON mnemic.migrations TO PUBLIC",
    ],
    "only mnemic_definer reads the signing key": [
        "GRANT SELECT ON mnemic.signing_key TO mnemic_app",
        "GRANT UPDATE ON mnemic.signing_key TO mnemic_definer",
        "GRANT SELECT (outer_block) ON mnemic.signing_key TO mnemic_app",
    ],
    "every SECURITY DEFINER function belongs to mnemic_definer": [
        "CREATE FUNCTION mnemic.bad() RETURNS int SECURITY DEFINER"
        " SET search_path = pg_catalog, pg_temp RETURN 1",
    ],
    "every SECURITY DEFINER function pins its search path": [
        "CREATE FUNCTION mnemic.bad() RETURNS int SECURITY DEFINER RETURN 1",
        "CREATE FUNCTION state.bad() RETURNS int SECURITY DEFINER SET search_path = state RETURN 1",
        "ALTER FUNCTION mnemic.verified_claim RESET search_path",
    ],
    "every SECURITY DEFINER function that bypasses policies checks its caller": [
        """CREATE FUNCTION mnemic.open_count() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN (SELECT count(*) FROM queue.jobs); END';
        CALL mnemic.run_as_definer('mnemic.open_count()')""",
        """CREATE POLICY open ON state.bad TO mnemic_definer USING (true);
        CREATE FUNCTION mnemic.empty() RETURNS void LANGUAGE sql SECURITY DEFINER
        SET search_path = pg_catalog, pg_temp AS 'DELETE FROM state.bad';
        CALL mnemic.run_as_definer('mnemic.empty()')""",
    ],
    "PUBLIC may not execute procedures or SECURITY DEFINER functions": [
        "CREATE FUNCTION mnemic.bad() RETURNS int SECURITY DEFINER"
        " SET search_path = pg_catalog, pg_temp RETURN 1",
        "GRANT EXECUTE ON PROCEDURE mnemic.protect TO PUBLIC",
        "CREATE PROCEDURE mnemic.bad() BEGIN ATOMIC END",
    ],
    "the application may not execute functions of migrations": [
        "GRANT EXECUTE ON PROCEDURE mnemic.run_as_definer TO mnemic_app"
    ],
    "the application may not create objects in a schema or in the database": [
        "GRANT CREATE ON SCHEMA public TO PUBLIC",
        "GRANT CREATE ON SCHEMA state TO mnemic_app",
    ],
    "no role of Mnemic has server-wide privileges": [
        "ALTER ROLE mnemic_app CREATEROLE",
        "ALTER ROLE {login} SUPERUSER",
        "ALTER ROLE {login} BYPASSRLS",
        "ALTER ROLE mnemic_definer CREATEDB",
    ],
    "roles with privileges cannot log in": ["ALTER ROLE mnemic_definer LOGIN"],
    "the application owns nothing": [
        "ALTER TABLE state.bad OWNER TO mnemic_app",
        "CREATE SCHEMA bad AUTHORIZATION {login}",
    ],
    "the application is a member of its own role only": [
        "GRANT pg_read_all_data TO {login}",
        "GRANT pg_monitor TO mnemic_app",
    ],
    "mnemic_definer has no members and is a member of no role": [
        "GRANT mnemic_definer TO {login}",
        "GRANT pg_read_all_data TO mnemic_definer",
    ],
    "there are no default privileges": [
        "ALTER DEFAULT PRIVILEGES IN SCHEMA state GRANT ALL ON TABLES TO mnemic_app"
    ],
    "no rule rewrites queries on Mnemic's tables": [
        "CREATE RULE bad AS ON DELETE TO state.bad DO INSTEAD NOTHING",
    ],
}


def offenders(connection: AppConnection, check: str) -> set[str]:
    connection.execute("SET search_path = pg_catalog")  # Otherwise names in the answers depend on it.
    return {str(name) for (name,) in connection.execute(CHECKS[check].encode()).fetchall()}


@pytest.fixture
def undone(shared_admin: AppConnection) -> Iterator[AppConnection]:
    """A superuser's transaction that is rolled back, because roles belong to the whole server."""
    shared_admin.execute("BEGIN")
    yield shared_admin
    shared_admin.execute("ROLLBACK")


@pytest.mark.parametrize("check", CHECKS)
def test_the_invariant_holds_in_a_migrated_database(check: str, shared_admin: AppConnection) -> None:
    assert offenders(shared_admin, check) - COUNTED_COLUMNS.keys() == set()


@pytest.mark.parametrize("check", CHECKS)
def test_the_invariant_accepts_a_correct_table_and_finds_a_violation(
    check: str, undone: AppConnection, template_access: Access
) -> None:
    undone.execute(GOOD_TABLE)
    before = offenders(undone, check)
    assert "state.bad" not in " ".join(before)
    for offence in OFFENCES[check]:
        with undone.transaction(force_rollback=True):
            undone.execute(offence.format(login=template_access.key.login).encode())
            assert offenders(undone, check) > before, offence


def test_every_invariant_has_a_violation_and_every_listed_column_exists(shared_admin: AppConnection) -> None:
    assert OFFENCES.keys() == CHECKS.keys()
    with_statistics = offenders(shared_admin, "no column has statistics, unless it is listed")
    assert COUNTED_COLUMNS.keys() <= with_statistics
