"""Fixtures of the attacks on branches: a tenant of its own for each test."""

from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    shared_database,
    shared_database_name,
    superuser,
    tenant_database,
)
