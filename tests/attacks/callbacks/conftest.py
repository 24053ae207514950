"""What the attacks by callbacks share."""

from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    open_memory,
    rows,
    superuser,
)
