"""The spend ledger of a tenant, in the database.

A call of a language model is *reserved* with its worst case before it is made, in one conditional UPDATE of
the tenant's account (`sql/definitions/spend/reserve_spend.sql`). If the amount does not fit below the caps,
nothing is reserved and no call is made. Afterwards the call is *settled* with what it cost, or *failed*. If
the process dies meanwhile, the lease of the reservation ends, and the next call that needs the money returns
it to the account (*expired*).

So the sum of what was spent and of what is reserved never exceeds a cap, however many processes call models
at once.
"""

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Protocol

from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import SpendCapError
from mnemic.models.spending import PlannedCall, Reservation, UsedTokens
from mnemic.runtime.call_metrics import ModelCallCounts
from mnemic.types.spend import MICRODOLLARS, SpendPeriod

LEASE_S = 1_800.0
"""How long a reservation lasts if its call is not settled; far longer than any call may take."""


class CountCall(Protocol):
    """Called at the end of every call of a language model, to count it elsewhere, too."""

    def __call__(self, *, failed: bool = False, refused: bool = False, microdollars: int = 0) -> None:
        """Count a call."""


class DatabaseSpendLedger:
    """A `SpendLedger`. `database` returns the tenant's database, which may be opened again in between."""

    def __init__(
        self,
        database: Callable[[], TenantDatabase],
        counts: ModelCallCounts,
        *,
        operator_cap: Decimal | None = None,
        lease_s: float = LEASE_S,
        count_call: CountCall | None = None,
    ) -> None:
        self._database = database
        self._counts = counts
        self._operator_cap = int(operator_cap * MICRODOLLARS) if operator_cap is not None else None
        self._lease_s = lease_s
        self._count_call = count_call if count_call is not None else _ignore

    async def reserve(self, call: PlannedCall) -> Reservation:
        """Reserve the worst case of a call. Raises SpendCapError if it does not fit below the caps."""
        parameters = {
            "purpose": call.purpose,
            "model": call.model,
            "input_tokens": call.input_tokens,
            "output_tokens": call.output_tokens,
            "microdollars": call.microdollars,
            "operator_cap": self._operator_cap,
            "lease_s": self._lease_s,
        }
        row = await self._one("spend.reserve", parameters)
        if row["call_id"] is None:
            self._counts.refused[call.purpose] += 1
            self._count_call(refused=True)
            raise _refusal(call.model, row)
        return Reservation(row["call_id"], call.purpose)

    async def settle(self, reservation: Reservation, used: UsedTokens | None) -> None:
        """Replace a reservation by what the call has used; None if that is not known: the worst case."""
        parameters = {
            "call_id": reservation.call_id,
            "input_tokens": used.input_tokens if used is not None else None,
            "output_tokens": used.output_tokens if used is not None else None,
            "microdollars": used.microdollars if used is not None else None,
            "has_failed": False,
        }
        purpose = reservation.purpose
        row = await self._one("spend.settle", parameters)
        self._counts.made[purpose] += 1
        self._counts.microdollars[purpose] += row["microdollars"] or 0
        self._count_call(microdollars=row["microdollars"] or 0)
        if used is not None:
            self._counts.input_tokens[purpose] += used.input_tokens
            self._counts.output_tokens[purpose] += used.output_tokens

    async def fail(self, reservation: Reservation) -> None:
        """Return a reservation: the provider did not answer the call."""
        tokens = {"input_tokens": None, "output_tokens": None, "microdollars": None}
        await self._one("spend.settle", {**tokens, "call_id": reservation.call_id, "has_failed": True})
        self._counts.failed[reservation.purpose] += 1
        self._count_call(failed=True)

    async def _one(self, name: str, parameters: dict[str, Any]) -> Row:
        async def run(transaction: Transaction) -> Row:
            return await transaction.one(name, parameters)

        return await self._database().run(run)


def _ignore(*, failed: bool = False, refused: bool = False, microdollars: int = 0) -> None:
    """Count nothing."""


def _refusal(model: str, row: Row) -> SpendCapError:
    """The error for a call that the account refused."""
    refused_by = row["refused_by"]
    if refused_by == "price":
        return SpendCapError(
            f"There is a spend cap, and the price of the language model {model} is not known. Set it by "
            f"memory.spend.set_price, or `mnemic spend price {model} --input … --output …`.",
            retry_at=_end_of("day"),
        )
    retry_at = _end_of(refused_by)
    period = {"day": "a day", "month": "a month", "total": "all time"}[refused_by]
    end = f"The next period begins on {retry_at:%Y-%m-%d}" if refused_by != "total" else "It does not end"
    return SpendCapError(
        f"The spend cap of {dollars(row['cap_microdollars'])} for {period} stops this call: "
        f"{dollars(row['used_microdollars'])} are spent or reserved, and the call may cost "
        f"{dollars(row['needed_microdollars'])}. {end}; an administrator can raise the cap.",
        retry_at=retry_at,
    )


def _end_of(period: SpendPeriod) -> datetime:
    """When the period ends, in UTC. A cap of all time may be raised meanwhile: look again the next day."""
    today = datetime.now(UTC).date()
    following = today + timedelta(days=1)
    if period == "month":
        following = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
    return datetime.combine(following, time(), UTC)


def dollars(microdollars: int | Decimal) -> str:
    """An amount for people, such as $5.00 or $0.000375."""
    usd = Decimal(microdollars) / MICRODOLLARS
    return f"${usd:,.2f}" if usd == usd.quantize(Decimal("0.01")) else f"${usd:,.6f}"
