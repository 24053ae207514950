"""What the attacks by models share."""

from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    open_memory,
    rows,
    superuser,
)
