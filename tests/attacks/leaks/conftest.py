"""Fixtures of the attacks on grants: a tenant of its own for each test."""

from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    superuser,
)
