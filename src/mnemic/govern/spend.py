"""Caps and prices of the spend ledger, and what was spent.

A tenant has no caps unless it sets some. A cap stops calls of language models before they are made
(`mnemic.runtime.spend_ledger`): recall then works without them, and jobs that need a model wait until the
period of the cap ends. Lowering a cap below what was spent stops all further calls of that period.

Caps and prices concern the whole tenant, and so do changes of them, which are audited. The ledger holds
models, purposes, tokens and amounts: no text and no owner.
"""

import re
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from mnemic.config import CAP_MAX_USD
from mnemic.db.connection import Row
from mnemic.db.database import TenantDatabase, Transaction
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.govern.audit import audited
from mnemic.types.checks import check_choice, check_window
from mnemic.types.page import check_limit
from mnemic.types.scope import Scope, check_name
from mnemic.types.spend import (
    MICRODOLLARS,
    SPEND_PERIODS,
    ModelPrice,
    PeriodSpend,
    SpendCaps,
    SpendLine,
    SpendPeriod,
)

PRICE_MAX_USD = 100_000
"""Highest price of a million tokens."""
PRICES_MAX = 1_000
"""Most prices that a tenant may set."""
LEDGER_KEEP_DAYS = 400
"""How long single calls are kept: a year and some; the sums of the account stay."""

_AMOUNT = re.compile(r"[0-9]{1,10}(?:\.[0-9]{1,6})?")


async def summary(
    database: TenantDatabase, *, since: datetime | str | None, until: datetime | str | None, limit: int
) -> list[SpendLine]:
    """What was spent, by day, purpose and model, newest day first."""
    parameters = {**check_window(since, until), "limit": check_limit(limit)}
    async with database.transaction() as transaction:
        rows = await transaction.rows("spend.summary", parameters)
    return [SpendLine(**_with_usd(row)) for row in rows]


async def read_caps(database: TenantDatabase, operator_cap: Decimal | None) -> SpendCaps:
    """The caps and what counts against them now."""
    async with database.transaction() as transaction:
        return _caps_from(await transaction.one("spend.account"), operator_cap)


async def set_cap(
    database: TenantDatabase,
    scope: Scope,
    usd: Decimal | int | str | None,
    *,
    period: str,
    operator_cap: Decimal | None,
) -> SpendCaps:
    """Set the cap of a period, or remove it by None."""
    checked = cast(SpendPeriod, check_choice("period", period, SPEND_PERIODS))
    cap = check_amount("usd", usd, highest=CAP_MAX_USD) if usd is not None else None
    parameters = {"period": checked, "cap": int(cap * MICRODOLLARS) if cap is not None else None}
    detail = {"usd": str(cap) if cap is not None else None}
    async with (
        audited(database, scope, action="set_spend_cap", target=checked, detail=detail) as act,
        database.transaction() as transaction,
    ):
        await transaction.one("spend.account")
        await transaction.execute("spend.set_cap", parameters)
        act.outcome(woken_count=await _wake_parked_jobs(transaction))
        caps = _caps_from(await transaction.one("spend.account"), operator_cap)
        await act.commit_with(transaction)
    return caps


async def list_prices(database: TenantDatabase) -> list[ModelPrice]:
    """The prices that the tenant set by hand, by model."""
    async with database.transaction() as transaction:
        return [ModelPrice(**row) for row in await transaction.rows("spend.prices", {"limit": PRICES_MAX})]


async def set_price(
    database: TenantDatabase,
    scope: Scope,
    model: str,
    *,
    input_usd: Decimal | int | str,
    output_usd: Decimal | int | str,
) -> ModelPrice:
    """Set the price of a model, in dollars per million tokens; ConflictError above PRICES_MAX models."""
    parameters: dict[str, Any] = {
        "model": check_name("model", model),
        "input_usd": check_amount("input_usd", input_usd, highest=PRICE_MAX_USD),
        "output_usd": check_amount("output_usd", output_usd, highest=PRICE_MAX_USD),
    }
    detail = {field: str(parameters[field]) for field in ("input_usd", "output_usd")}
    async with (
        audited(database, scope, action="set_model_price", target=parameters["model"], detail=detail) as act,
        database.transaction() as transaction,
    ):
        # Locks the account, so that the limit is exact.
        await transaction.one("spend.account")
        counted = await transaction.one("spend.count_prices", parameters)
        if counted["price_count"] >= PRICES_MAX:
            raise ConflictError(f"There are {PRICES_MAX:,} prices already: remove some first.")
        price = ModelPrice(**await transaction.one("spend.set_price", parameters))
        act.outcome(woken_count=await _wake_parked_jobs(transaction))
        await act.commit_with(transaction)
    return price


async def remove_price(database: TenantDatabase, scope: Scope, model: str) -> None:
    """Remove the price of a model; NotFoundError if none was set by hand."""
    parameters = {"model": check_name("model", model)}
    async with (
        audited(database, scope, action="remove_model_price", target=parameters["model"]) as act,
        database.transaction() as transaction,
    ):
        if not await transaction.execute("spend.remove_price", parameters):
            raise NotFoundError(f"No price was set by hand for the model {parameters['model']!r}.")
        await act.commit_with(transaction)


async def prune(database: TenantDatabase, *, limit: int) -> int:
    """Return expired reservations to the account and delete some old calls; returns how many."""
    async with database.transaction() as transaction:
        await transaction.one("spend.expire")
        return await transaction.execute("spend.prune", {"keep_days": LEDGER_KEEP_DAYS, "limit": limit})


async def _wake_parked_jobs(transaction: Transaction) -> int:
    """Let parked jobs run: the change may allow them, and otherwise they are parked again."""
    return int((await transaction.one("spend.wake_parked_jobs"))["woken_count"])


def check_amount(field: str, value: object, *, highest: int) -> Decimal:
    """An amount of dollars, not negative, with at most six decimals."""
    text = str(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else value
    if isinstance(text, str) and _AMOUNT.fullmatch(text) and Decimal(text) <= highest:
        return Decimal(text)
    raise InvalidInputError(
        f"{field} must be an int, a Decimal or text such as '5.00', from 0 to {highest:,} dollars, with at "
        "most 6 decimals. Floats are not exact; pass str(value) if that is what you mean."
    )


def _caps_from(row: Row, operator_cap: Decimal | None) -> SpendCaps:
    def of(period: SpendPeriod) -> PeriodSpend:
        cap = row[f"{period}_cap_microdollars"]
        return PeriodSpend(
            period, _usd(cap) if cap is not None else None, _usd(row[f"{period}_spent_microdollars"])
        )

    return SpendCaps(of("day"), of("month"), of("total"), _usd(row["reserved_microdollars"]), operator_cap)


def _with_usd(row: Row) -> Row:
    return {
        **{field: value for field, value in row.items() if field != "microdollars"},
        "usd": _usd(row["microdollars"]),
    }


def _usd(microdollars: int | Decimal) -> Decimal:
    return Decimal(microdollars) / MICRODOLLARS
