"""Ids that the database makes."""

import time
from uuid import RFC_4122, UUID

from mnemic.types.identity import new_id
from tests.conftest import AppConnection

IDS_MADE = 300


def _made(admin: AppConnection) -> UUID:
    (made,) = admin.execute("SELECT mnemic.new_id()").fetchone() or ()
    assert isinstance(made, UUID)
    return made


def test_ids_sort_in_creation_order_within_a_millisecond(admin: AppConnection) -> None:
    ids = [_made(admin) for _ in range(IDS_MADE)]
    assert ids == sorted(ids)
    milliseconds = {made.int >> 80 for made in ids}
    assert len(milliseconds) < IDS_MADE, "some have their millisecond in common"
    assert all((made.version, made.variant) == (7, RFC_4122) for made in ids)


def test_ids_of_database_and_python_sort_together_by_time(admin: AppConnection) -> None:
    began_ms = time.time_ns() // 1_000_000
    ids = [make() for _ in range(50) for make in (new_id, lambda: _made(admin))]
    assert ids == sorted(ids)
    assert began_ms <= ids[1].int >> 80 <= time.time_ns() // 1_000_000
