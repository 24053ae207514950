"""Fixtures of the tests of the write path."""

import pytest

from mnemic.db.database import TenantDatabase
from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    superuser,
    tenant_database,
)


@pytest.fixture
def transactions(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each transaction of several statements that is begun."""
    begun: list[object] = []
    begin = TenantDatabase.transaction

    def count_and_begin(self: TenantDatabase, **options: bool) -> object:
        begun.append(options)
        return begin(self, **options)

    monkeypatch.setattr(TenantDatabase, "transaction", count_and_begin)
    return begun
