"""What the tests of context paging share."""

import pytest

from tests.two_tenants import foreign_memory, memory, tenant_database, wide_memory  # noqa: F401 (fixtures)


@pytest.fixture
def own_database() -> bool:
    """No: the tests look at their own tenants only."""
    return False
