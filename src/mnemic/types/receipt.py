"""Receipts of operations that cannot be undone."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

ErasureMode = Literal["erase", "archive"]


@dataclass(frozen=True, slots=True)
class ErasureReceipt:
    """Erased (or archived) rows of an owner, per table.

    The audit log keeps it under `receipt_id`, without the owner's name: keep the receipt to know the owner.
    """

    receipt_id: UUID
    mode: ErasureMode
    rows: dict[str, int]
    finished_at: datetime

    @property
    def row_count(self) -> int:
        """Rows in all tables together."""
        return sum(self.rows.values())
