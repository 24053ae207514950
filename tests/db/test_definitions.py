"""Definitions: applied again when their file has changed, dropped with their file, in one transaction."""

from typing import LiteralString

import pytest

from mnemic.db.connection import admin_connection
from mnemic.db.migrate import MigrationStatus, migrate, require_current
from mnemic.errors import MigrationError, NotMigratedError
from mnemic.sql.definition_files import Definition
from mnemic.sql.migration_files import Migration, all_definitions, all_migrations
from tests.conftest import LIMITS, AppConnection

NUMBER = "CREATE OR REPLACE FUNCTION mnemic.number() RETURNS int LANGUAGE sql RETURN 1;"


async def apply(
    conninfo: str, *files: tuple[str, LiteralString], migration: LiteralString | None = None
) -> MigrationStatus:
    """Migrate with these definitions, and optionally a migration, besides Mnemic's own."""
    extra = [Definition("extra", name, text) for name, text in files]
    added = [] if migration is None else [Migration("extra", 1, "added", migration)]
    return await migrate(
        conninfo,
        LIMITS,
        migrations=(*all_migrations(), *added),
        definitions=(*all_definitions(), Definition("extra", "x/kept", "SELECT 1;"), *extra),
    )


def value(connection: AppConnection, expression: LiteralString) -> object:
    row = connection.execute(b"SELECT " + expression.encode()).fetchone()
    assert row is not None
    return row[0]


async def test_only_a_changed_definition_is_applied(admin_conninfo: str, admin: AppConnection) -> None:
    await apply(admin_conninfo, ("x/number", NUMBER))
    status = await apply(admin_conninfo, ("x/number", NUMBER.replace("RETURN 1", "RETURN 2")))
    assert [item.label for item in status.outdated] == ["extra/x/number"]
    assert value(admin, "mnemic.number()") == 2
    assert (await apply(admin_conninfo, ("x/number", NUMBER.replace("RETURN 1", "RETURN 2")))).is_current


async def test_definitions_without_a_file_are_dropped(admin_conninfo: str, admin: AppConnection) -> None:
    view = "CREATE OR REPLACE VIEW traces.numbers AS SELECT mnemic.number() AS number;"
    policy = "CREATE POLICY odd ON state.grants FOR SELECT TO mnemic_definer USING (mnemic.number() = 1);"
    needing = "-- needs: x/number\n"
    await apply(
        admin_conninfo, ("x/number", NUMBER), ("x/numbers", needing + view), ("x/grants", needing + policy)
    )
    status = await apply(admin_conninfo)
    assert status.removed == ("extra/x/grants", "extra/x/number", "extra/x/numbers")
    assert value(admin, "to_regproc('mnemic.number')") is None
    assert value(admin, "to_regclass('traces.numbers')") is None
    assert value(admin, "count(*) FROM pg_policy WHERE polname = 'odd'") == 0
    assert (await apply(admin_conninfo)).is_current


async def test_objects_that_a_file_no_longer_creates_are_dropped(
    admin_conninfo: str, admin: AppConnection
) -> None:
    function = (
        "CREATE OR REPLACE FUNCTION mnemic.stamp() RETURNS trigger"
        " LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
    )
    trigger = "CREATE OR REPLACE TRIGGER stamp BEFORE INSERT ON state.grants EXECUTE FUNCTION mnemic.stamp();"
    await apply(admin_conninfo, ("x/stamp", f"{function}\n{trigger}"))
    assert value(admin, "count(*) FROM pg_trigger WHERE tgname = 'stamp'") == 1
    await apply(admin_conninfo, ("x/stamp", function))
    assert value(admin, "count(*) FROM pg_trigger WHERE tgname = 'stamp'") == 0


@pytest.mark.parametrize(
    ("before", "after", "call"),
    [
        (
            "number() RETURNS int LANGUAGE sql RETURN 1",
            "number() RETURNS text LANGUAGE sql RETURN '2'",
            "number()",
        ),
        (
            "number(a int) RETURNS int LANGUAGE sql RETURN 1",
            "number(b int) RETURNS int LANGUAGE sql RETURN 2",
            "number(0)",
        ),
        (
            "number(a int) RETURNS int LANGUAGE sql RETURN 1",
            "number(a text) RETURNS int LANGUAGE sql RETURN 2",
            "number('')",
        ),
    ],
    ids=["return type", "parameter name", "parameter type"],
)
async def test_a_new_signature_replaces_the_old_one(
    admin_conninfo: str,
    admin: AppConnection,
    before: LiteralString,
    after: LiteralString,
    call: LiteralString,
) -> None:
    await apply(admin_conninfo, ("x/number", f"CREATE OR REPLACE FUNCTION mnemic.{before};"))
    await apply(admin_conninfo, ("x/number", f"CREATE OR REPLACE FUNCTION mnemic.{after};"))
    assert str(value(admin, f"mnemic.{call}")) == "2"
    assert value(admin, "count(*) FROM pg_proc WHERE proname = 'number'") == 1


async def test_a_new_signature_of_a_function_with_dependents_is_an_error(
    admin_conninfo: str, admin: AppConnection
) -> None:
    table = "CREATE TABLE mnemic.counted (number int DEFAULT mnemic.number())"
    await apply(admin_conninfo, ("x/number", f"-- stage: before tables\n{NUMBER}"), migration=table)
    with pytest.raises(MigrationError, match=r"default value for column number.*migration"):
        await apply(
            admin_conninfo,
            ("x/number", "-- stage: before tables\n" + NUMBER.replace("int", "bigint")),
            migration=table,
        )
    assert value(admin, "mnemic.number()") == 1


async def test_a_definition_dropped_by_a_migration_is_applied_again(
    admin_conninfo: str, admin: AppConnection
) -> None:
    await apply(admin_conninfo, migration="DROP VIEW state.memory_history, queue.all_jobs")
    assert value(admin, "to_regclass('queue.all_jobs')") is not None
    assert value(admin, "count(*) FROM state.memory_history") == 0


async def test_a_failing_definition_is_rolled_back(admin_conninfo: str, admin: AppConnection) -> None:
    with pytest.raises(Exception, match="nothing"):
        await apply(
            admin_conninfo,
            ("x/number", NUMBER),
            ("x/wrong", "CREATE VIEW traces.wrong AS SELECT nothing;"),
            migration="CREATE TABLE state.first ()",
        )
    assert value(admin, "to_regclass('state.first')") is None
    assert value(admin, "to_regproc('mnemic.number')") is None


async def test_a_database_with_outdated_definitions_counts_as_not_migrated(
    admin_conninfo: str, admin: AppConnection
) -> None:
    admin.execute("UPDATE mnemic.definitions SET checksum = repeat('0', 64) WHERE name = 'jobs/claim_jobs'")
    async with admin_connection(admin_conninfo, LIMITS) as connection:
        with pytest.raises(NotMigratedError, match=r"1 definition.*mnemic/jobs/claim_jobs.*mnemic migrate"):
            await require_current(connection)
    await migrate(admin_conninfo, LIMITS)
    async with admin_connection(admin_conninfo, LIMITS) as connection:
        await require_current(connection)


async def test_declared_dependencies_suffice_in_any_order_of_names(empty_conninfo: str) -> None:
    reverse = tuple(reversed_order(all_definitions()))
    assert {item.name for item in reverse} == {item.name for item in all_definitions()}
    await migrate(empty_conninfo, LIMITS, definitions=reverse)


def reversed_order(definitions: tuple[Definition, ...]) -> list[Definition]:
    """Reverse alphabetical order, except for dependencies."""
    by_name = {item.name: item for item in definitions}
    done: dict[str, Definition] = {}

    def add(item: Definition) -> None:
        for need in item.needs:
            add(by_name[need])
        done.setdefault(item.name, item)

    for stage in ("before tables", "after tables"):
        for item in sorted(definitions, key=lambda item: item.name, reverse=True):
            if item.stage == stage:
                add(item)
    return list(done.values())
