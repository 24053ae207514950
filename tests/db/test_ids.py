"""Ids that the database makes."""

import time
from uuid import RFC_4122, UUID

from mnemic.types.identity import new_id
from tests.conftest import AppConnection

IDS_MADE = 300
# In one statement: on a busy machine a statement may take longer than a millisecond. Counting in between
# takes some microseconds, which is how far apart ids must be to sort.
MANY = """
    SELECT mnemic.new_id()
    FROM generate_series(1, %s) AS number,
        LATERAL (SELECT count(*) FROM generate_series(number, number + 100))
"""


def _made(admin: AppConnection) -> UUID:
    (made,) = admin.execute("SELECT mnemic.new_id()").fetchone() or ()
    assert isinstance(made, UUID)
    return made


def test_ids_sort_in_creation_order_within_a_millisecond(admin: AppConnection) -> None:
    ids = [made for (made,) in admin.execute(MANY, [IDS_MADE]).fetchall() if isinstance(made, UUID)]
    assert len(ids) == IDS_MADE
    assert ids == sorted(ids)
    milliseconds = {made.int >> 80 for made in ids}
    assert len(milliseconds) < IDS_MADE, "some have their millisecond in common"
    assert all((made.version, made.variant) == (7, RFC_4122) for made in ids)


def test_ids_of_database_and_python_sort_together_by_time(admin: AppConnection) -> None:
    began_ms = time.time_ns() // 1_000_000
    ids = [make() for _ in range(50) for make in (new_id, lambda: _made(admin))]
    assert ids == sorted(ids)
    assert began_ms <= ids[1].int >> 80 <= time.time_ns() // 1_000_000
