"""What the tests of events share."""

from collections.abc import Sequence

from mnemic.types.event import Event
from tests.fresh_tenants import (  # noqa: F401 (fixtures)
    memory,
    open_memory,
    rows,
    superuser,
    tenant_database,
)


def changes(events: Sequence[Event]) -> list[tuple[str, str]]:
    """What happened to what, in order."""
    return [(event.type, event.subject) for event in events]
