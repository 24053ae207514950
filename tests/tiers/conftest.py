"""Fixtures for the tests of the tiers."""

import pytest

from tests.conftest import AppConnection
from tests.two_tenants import (  # noqa: F401 (fixtures)
    CountRows,
    counter,
    foreign_memory,
    memory,
    wide_memory,
)

TABLES = (
    "state_documents",
    "journal_events",
    "revenue_events",
    "error_events",
    "metrics_events",
    "flagged_actors",
    "process_attributes",
)


@pytest.fixture
def own_database() -> bool:
    """No: the tests look at their own tenants only."""
    return False


@pytest.fixture
def count_rows(admin: AppConnection) -> CountRows:
    """Counts the rows of all tiers and all tenants."""
    return counter(admin, TABLES)
