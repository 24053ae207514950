"""Contradictions between statements of one subject and attribute."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.extraction.protocol import ProposedStatement
from mnemic.types.scope import Scope

Policy = Literal["prefer_new", "prefer_old", "flag_review"]


@dataclass(frozen=True, slots=True)
class NewStatement:
    """A statement that was said now, and its memory, which may have existed before."""

    memory_id: UUID
    proposal: ProposedStatement


async def resolve_contradictions(
    transaction: Transaction, scope: Scope, new: Sequence[NewStatement], *, policy: Policy | None
) -> int:
    """Decide contradictions; returns how many memories were superseded."""
    return 0
