"""A database of the version before the baseline is carried over, or refused if it is older."""

import psycopg
import pytest

from mnemic.db.connection import admin_connection
from mnemic.db.migrate import migrate, read_status, require_current
from mnemic.errors import NotMigratedError
from mnemic.sql.migration_files import all_definitions, all_migrations
from tests.conftest import LIMITS, AppConnection
from tests.db.version_before import make_old_database, old_migrations
from tests.db.whole_catalog import whole_catalog


async def test_a_carried_over_database_has_the_catalog_of_a_new_one(
    template_access: object, empty_conninfo: str, admin: AppConnection
) -> None:
    make_old_database(empty_conninfo)
    await migrate(empty_conninfo, LIMITS)
    with psycopg.connect(empty_conninfo) as carried_over:
        found = whole_catalog(carried_over)
    expected = whole_catalog(admin)
    assert {name for name in found | expected if found.get(name) != expected.get(name)} == set()
    assert (await read_status(empty_conninfo, LIMITS)).is_current


async def test_a_carried_over_database_keeps_its_rows(template_access: object, empty_conninfo: str) -> None:
    make_old_database(empty_conninfo)
    with psycopg.connect(empty_conninfo, autocommit=True) as connection:
        connection.execute("INSERT INTO state.tenants (name) VALUES ('acme')")
        counted = "SELECT (SELECT count(*) FROM state.tenants), (SELECT count(*) FROM queue.schedules)"
        before = connection.execute(counted).fetchone()
        await migrate(empty_conninfo, LIMITS)
        assert connection.execute(counted).fetchone() == before == (2, 10)


async def test_grants_from_before_acceptance_stay_in_effect(
    template_access: object, empty_conninfo: str
) -> None:
    make_old_database(empty_conninfo)
    with psycopg.connect(empty_conninfo, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO state.grants (tenant_id, owner, granted_to, process, revoked_at)"
            " SELECT tenant_id, 'alice', 'bob', 'p', ended"
            " FROM state.tenants, unnest(ARRAY[NULL, now()]) AS ended"
        )
        await migrate(empty_conninfo, LIMITS)
        found = connection.execute(
            "SELECT mnemic.grant_state(accepted_at, expires_at, dropped_at, revoked_at),"
            " accepted_at = created_at FROM state.grants ORDER BY 1"
        )
        assert found.fetchall() == [("active", True), ("revoked", None)]


async def test_its_status_is_the_baseline_with_outdated_definitions(
    template_access: object, empty_conninfo: str
) -> None:
    make_old_database(empty_conninfo)
    status = await read_status(empty_conninfo, LIMITS)
    assert [row.number for row in status.applied] == list(range(1, 13))
    assert status.pending == all_migrations()[12:]
    assert status.outdated == all_definitions()


async def test_opening_does_not_carry_it_over(template_access: object, empty_conninfo: str) -> None:
    make_old_database(empty_conninfo)
    async with admin_connection(empty_conninfo, LIMITS) as connection:
        with pytest.raises(NotMigratedError, match="mnemic migrate"):
            await require_current(connection)


async def test_an_older_database_is_refused_with_advice(template_access: object, empty_conninfo: str) -> None:
    make_old_database(empty_conninfo, count=27)
    for attempt in (read_status, migrate):
        with pytest.raises(NotMigratedError, match=r"27 of 28 migrations.*mnemic export.*mnemic import"):
            await attempt(empty_conninfo, LIMITS)


def test_the_archive_contains_the_files_of_the_known_checksums() -> None:
    assert len(old_migrations()) == 28
