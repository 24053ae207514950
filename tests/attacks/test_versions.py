"""Attacks on the exclusion of two versions, by SQL that was injected into a transaction of a tenant."""

from dataclasses import replace

import pytest
from psycopg.errors import InsufficientPrivilege

from mnemic.db.database import Database
from mnemic.db.migrate import migrate, read_status
from mnemic.db.tenancy import Tenant
from mnemic.errors import DatabaseError
from mnemic.sql.migration_files import Migration, all_migrations
from tests.conftest import LIMITS

FORGED_NAME = "mnemic/9.9.9/ffffffffffff/1"
IMPATIENT = replace(LIMITS, other_versions_timeout_s=0)


def new_migrations() -> tuple[Migration, ...]:
    number = max(migration.number for migration in all_migrations()) + 1
    return (*all_migrations(), Migration("mnemic", number, "mood", "CREATE TABLE state.moods ()"))


async def test_a_forged_name_of_a_session_does_not_outlive_its_transaction(
    database: Database, tenant_a: Tenant, admin_conninfo: str, subtests: pytest.Subtests
) -> None:
    for statement in (
        f"SET application_name = '{FORGED_NAME}'",
        f"SELECT set_config('application_name', '{FORGED_NAME}', false)",
    ):
        with subtests.test(statement):
            async with database.transaction(tenant_a) as transaction:
                await transaction.connection.execute(statement.encode())
    assert (await migrate(admin_conninfo, IMPATIENT, migrations=new_migrations())).pending


async def test_the_application_cannot_pretend_another_schema(
    database: Database, tenant_a: Tenant, admin_conninfo: str, subtests: pytest.Subtests
) -> None:
    for statement in (
        "INSERT INTO mnemic.migrations VALUES ('mnemic', 9999, 'future', repeat('0', 64))",
        "UPDATE mnemic.definitions SET checksum = ''",
        "LOCK TABLE mnemic.migrations IN ACCESS EXCLUSIVE MODE",
        "COMMENT ON SCHEMA mnemic IS 'Mnemic 9.9.9'",
    ):
        with subtests.test(statement), pytest.raises(DatabaseError) as refused:
            async with database.transaction(tenant_a) as transaction:
                await transaction.connection.execute(statement.encode())
        assert isinstance(refused.value.__cause__, InsufficientPrivilege)
    assert (await read_status(admin_conninfo, LIMITS)).is_current
