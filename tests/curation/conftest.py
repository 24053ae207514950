"""Fixtures of the tests of the curator."""

from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    superuser,
    tenant_database,
)
