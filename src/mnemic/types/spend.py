"""The spend ledger: what calls of language models cost. Amounts are US dollars, days are those of UTC."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal, get_args

CallPurpose = Literal[
    "extraction",
    "summary",
    "query_expansion",
    "hyde",
    "self_query",
    "reranking",
    "strategy",
    "context",
    "proxy",
    "other",
]
"""What a language model is called for."""

CALL_PURPOSES: tuple[CallPurpose, ...] = get_args(CallPurpose)

SpendPeriod = Literal["day", "month", "total"]
SPEND_PERIODS: tuple[SpendPeriod, ...] = get_args(SpendPeriod)

MICRODOLLARS = 1_000_000
"""Microdollars in a dollar; the database counts in them."""


@dataclass(frozen=True, slots=True)
class SpendLine:
    """The calls of one model for one purpose on one day.

    `failed_count` of the calls failed and cost nothing. `unpriced_count` of them have no known price: their
    tokens are counted, and `usd` does not contain them.
    """

    day: date
    purpose: CallPurpose
    model: str
    call_count: int
    failed_count: int
    unpriced_count: int
    input_tokens: int
    output_tokens: int
    usd: Decimal


@dataclass(frozen=True, slots=True)
class PeriodSpend:
    """What was spent in the current day or month, or in total; without a cap, `cap_usd` is None."""

    period: SpendPeriod
    cap_usd: Decimal | None
    spent_usd: Decimal


@dataclass(frozen=True, slots=True)
class SpendCaps:
    """The caps of a tenant and what counts against them.

    `reserved_usd` is the worst case of the calls in progress, which counts in every period.
    `operator_day_cap_usd` is the cap of the setting `spend_cap_usd_per_day`: the lower cap of a day counts.
    """

    day: PeriodSpend
    month: PeriodSpend
    total: PeriodSpend
    reserved_usd: Decimal
    operator_day_cap_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """A price that the tenant set by hand, in dollars per million tokens."""

    model: str
    input_usd: Decimal
    output_usd: Decimal
    set_at: datetime
