"""Migrations that another package provides through an entry point."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.db.database import Database
from mnemic.db.migrate import migrate, read_status
from mnemic.db.tenancy import Tenant
from mnemic.errors import ConfigurationError, TenantMismatchError
from mnemic.sql.migration_files import all_migrations
from tests.conftest import LIMITS, AppConnection

INVOICES = """
CREATE TABLE state.invoices (
    tenant_id uuid NOT NULL REFERENCES state.tenants,
    number int NOT NULL,
    PRIMARY KEY (tenant_id, number)
);
CALL mnemic.protect('state.invoices');
"""

TOTAL = "CREATE OR REPLACE FUNCTION mnemic.billing_total() RETURNS int LANGUAGE sql RETURN {};"


class Package:
    """A package that Python finds as installed, in a folder on its path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._migrations = folder / "acme_billing" / "migrations"
        self._migrations.mkdir(parents=True)
        for part in (self._migrations.parent, self._migrations):
            (part / "__init__.py").touch()

    def install(self, *, set_name: str) -> None:
        info = self._folder / "acme_billing-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-billing\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[mnemic.migrations]\n{set_name} = acme_billing.migrations\n")
        importlib.invalidate_caches()

    def write(self, file_name: str, sql: str) -> None:
        path = self._migrations / file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(sql)

    def remove(self, file_name: str) -> None:
        (self._migrations / file_name).unlink()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    monkeypatch.syspath_prepend(tmp_path)
    yield Package(tmp_path)
    for name in ("acme_billing.migrations", "acme_billing"):
        sys.modules.pop(name, None)


async def test_migrations_of_an_installed_package_are_applied_with_tenant_isolation(
    package: Package, admin_conninfo: str, database: Database, tenant_a: Tenant, tenant_b: Tenant
) -> None:
    package.write("0001_invoices.sql", INVOICES)
    package.install(set_name="billing")
    (pending,) = (await read_status(admin_conninfo, LIMITS)).pending
    assert pending.label == "billing/0001_invoices"
    assert (await migrate(admin_conninfo, LIMITS)).pending == (pending,)
    assert (await read_status(admin_conninfo, LIMITS)).is_current

    add = "INSERT INTO state.invoices VALUES (%s, 1)"
    async with database.transaction(tenant_a) as transaction:
        await transaction.connection.execute(add, (tenant_a.id,))
    async with database.transaction(tenant_b) as transaction:
        cursor = await transaction.connection.execute("SELECT * FROM state.invoices")
        assert await cursor.fetchall() == []
    with pytest.raises(TenantMismatchError):
        async with database.transaction(tenant_b) as transaction:
            await transaction.connection.execute(add, (tenant_a.id,))


async def test_definitions_of_an_installed_package_are_applied(
    package: Package, admin_conninfo: str, admin: AppConnection
) -> None:
    package.write("0001_invoices.sql", INVOICES)
    package.write("definitions/billing/billing_total.sql", TOTAL.format(1))
    package.install(set_name="billing")
    assert [item.label for item in (await migrate(admin_conninfo, LIMITS)).outdated] == [
        "billing/billing/billing_total"
    ]
    assert admin.execute("SELECT mnemic.billing_total()").fetchone() == (1,)

    package.write("definitions/billing/billing_total.sql", TOTAL.format(2))
    await migrate(admin_conninfo, LIMITS)
    assert admin.execute("SELECT mnemic.billing_total()").fetchone() == (2,)

    package.remove("definitions/billing/billing_total.sql")
    assert (await migrate(admin_conninfo, LIMITS)).removed == ("billing/billing/billing_total",)
    assert admin.execute("SELECT to_regproc('mnemic.billing_total')").fetchone() == (None,)


async def test_an_uninstalled_package_is_ignored(package: Package, admin_conninfo: str) -> None:
    package.write("0001_invoices.sql", INVOICES)
    package.install(set_name="billing")
    await migrate(admin_conninfo, LIMITS)
    sys.path.remove(str(package._folder))
    importlib.invalidate_caches()
    assert (await migrate(admin_conninfo, LIMITS)).is_current


def test_a_package_cannot_use_mnemics_name(package: Package) -> None:
    package.install(set_name="mnemic")
    with pytest.raises(ConfigurationError, match="reserved"):
        all_migrations()


def test_the_error_names_a_package_that_cannot_be_imported(package: Package, tmp_path: Path) -> None:
    package.install(set_name="billing")
    (tmp_path / "acme_billing" / "migrations" / "__init__.py").unlink()
    (tmp_path / "acme_billing" / "migrations").rmdir()
    with pytest.raises(ConfigurationError, match=r"acme_billing\.migrations"):
        all_migrations()
