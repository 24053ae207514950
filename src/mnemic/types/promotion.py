"""Promotions of memories to `_global`; the table `state.promotions` has the same checks."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

PromotionState = Literal["promoted", "demoted", "undone"]


@dataclass(frozen=True, slots=True)
class Promotion:
    """A memory that was moved from its channel to `_global`, so that recall finds it in every channel.

    `thresholds` had to be reached, `measured` was reached. A promotion ends when its evidence goes
    (*demoted*) or when a person undoes it (*undone*).
    """

    memory_id: UUID
    state: PromotionState
    origin_channel: str
    thresholds: dict[str, Any]
    measured: dict[str, Any]
    changeset_id: UUID
    promoted_at: datetime
    ended_at: datetime | None
    ending_reason: str | None
