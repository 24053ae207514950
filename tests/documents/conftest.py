"""What the tests of ingestion share."""

from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    superuser,
)
