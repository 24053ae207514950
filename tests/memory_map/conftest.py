"""Fixtures of the tests of maps."""

from tests.embeddings.models import new, old  # noqa: F401 (fixtures)
from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    superuser,
)
