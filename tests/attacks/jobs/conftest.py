"""Fixtures of the attacks on jobs: the memories of two tenants."""

from tests.two_tenants import foreign_memory, memory  # noqa: F401 (fixtures)
