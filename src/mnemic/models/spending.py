"""What the spend ledger must know about a call of a language model, and the interface of the ledger.

This package only knows the interface: `mnemic.runtime.spend_ledger` keeps the ledger in the database. Prices
are those of the package `genai-prices`, which comes with the extra `providers`; it looks them up in its own
table, without a network. A model that it does not know has no price: its tokens are counted.
"""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from mnemic.types.spend import MICRODOLLARS, CallPurpose

if TYPE_CHECKING:
    from pydantic_ai.usage import RequestUsage

TOKENS_MAX = 10**9
"""Most tokens that are counted for a call; a model that reports more is wrong."""

COST_MAX_MICRODOLLARS = 10**15
"""Highest cost of a call that is counted."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call before it is made: the most tokens that it may use, and what they cost (None: not known)."""

    purpose: CallPurpose
    model: str
    input_tokens: int
    output_tokens: int
    microdollars: int | None


@dataclass(frozen=True, slots=True)
class UsedTokens:
    """What a call has used, and what that costs (None: not known)."""

    input_tokens: int
    output_tokens: int
    microdollars: int | None


@dataclass(frozen=True, slots=True)
class Reservation:
    """A call that may be made now. It must be settled or failed."""

    call_id: UUID
    purpose: CallPurpose


class SpendLedger(Protocol):
    """Counts calls of language models and stops those that might exceed a cap."""

    async def reserve(self, call: PlannedCall) -> Reservation:
        """Reserve the worst case of a call. Raises SpendCapError if it does not fit below the caps."""

    async def settle(self, reservation: Reservation, used: UsedTokens | None) -> None:
        """Replace a reservation by what the call has used; None if that is not known: the worst case."""

    async def fail(self, reservation: Reservation) -> None:
        """Return a reservation: the provider did not answer the call."""


def price_microdollars(usage: "RequestUsage", model: str, provider: str) -> int | None:
    """The price of a request by `genai-prices`, rounded up; None if it does not know the model."""
    from genai_prices import calc_price  # noqa: PLC0415 - an optional extra

    try:
        usd = calc_price(usage, model, provider_id=provider).total_price
    except (LookupError, ValueError):
        return None
    microdollars = (usd * MICRODOLLARS).to_integral_value(ROUND_CEILING)
    return int(min(max(microdollars, Decimal(0)), Decimal(COST_MAX_MICRODOLLARS)))


def counted(tokens: int) -> int:
    """A number of tokens within the bounds of the ledger."""
    return min(max(tokens, 0), TOKENS_MAX)
