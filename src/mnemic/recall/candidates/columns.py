"""The columns of candidates as the database sends them (mnemic.candidate_features).

Numbers come as one array in PostgreSQL's binary format, which numpy reads without an object for each. What
only few memories have comes as JSON, which is read for the selected memories.
"""

from datetime import datetime
from json import loads
from typing import Any

import numpy as np

from mnemic.db.connection import Row

NUMBERS = ("bytes", "happened_at_s", "confidences", "usefulnesses", "saliences", "anchored", "tenses")
"""The columns of `numbers`."""

# Two dimensions, flag, type, and length and first index of each dimension, four bytes each; then the items.
_HEAD_BYTES = 28
_ITEM = np.dtype([("length", ">i4"), ("value", ">f8")])

_USUAL: dict[str, Any] = {
    "version": 1,
    "metadata": {},
    "provenance": "witnessed",
    "evidence": (),
    "status": "active",
    "superseded_by": None,
    "merged_into": None,
    "valid_from": None,
    "valid_to": None,
    "expires_at": None,
    "recorded_at": None,
    "changed_by": "user",
    "change_reason": None,
    "chunk_index": None,
    "chunk_count": None,
    "reinforcement_count": 0,
    "last_injected_at": None,
}
_TIMES = ("valid_from", "valid_to", "expires_at", "recorded_at", "last_injected_at")


def with_numbers(row: Row) -> Row:
    """The row with a column for each of the numbers of its candidates."""
    if row["numbers"] is None:
        return row
    values = np.frombuffer(row["numbers"], _ITEM, offset=_HEAD_BYTES)["value"]
    by_column = np.array(values.reshape(-1, len(NUMBERS)).T, np.float64, order="C")
    return row | dict(zip(NUMBERS, by_column, strict=True))


def details_at(row: Row, place: int) -> dict[str, Any]:
    """The details of a candidate; `recorded_at` is None where it is the time of creation."""
    written = row["details"][place]
    if written is None:
        return {**_USUAL, "metadata": {}}
    details: dict[str, Any] = loads(written)
    details["evidence"] = tuple(details["evidence"])
    for name in _TIMES:
        if details[name] is not None:
            details[name] = datetime.fromisoformat(details[name])
    return details
