"""Revenue: exact amounts that agents earned or paid back.

An amount is a whole number, a `Decimal` or digits as text. Floats are refused, because they cannot
represent amounts such as 0.1 exactly.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from mnemic.db.database import TenantDatabase
from mnemic.db.json_value import as_jsonb_object
from mnemic.errors import InvalidInputError
from mnemic.tiers.events import EventKind, EventWindow, Time
from mnemic.types.checks import check_text
from mnemic.types.scope import Scope, check_name
from mnemic.types.tiers import RevenueEvent, RevenueTotal

DESCRIPTION_MAX_CHARACTERS = 8192
# As in `sql/migrations/0006_tiers.sql`: 20 digits before the point, 18 after it.
AMOUNT_LIMIT = Decimal(10) ** 20
AMOUNT_MAX_DECIMALS = 18

_DIGITS = re.compile(r"[+-]?[0-9]{1,20}(\.[0-9]{1,18})?", re.ASCII)
_CURRENCY = re.compile(r"[A-Za-z]{3}", re.ASCII)

_REVENUE = EventKind("revenue_events", RevenueEvent)


async def append_revenue(
    database: TenantDatabase,
    scope: Scope,
    *,
    amount: int | str | Decimal,
    currency: str,
    source: str,
    description: str | None,
    metadata: Mapping[str, Any],
    at: Time | None,
) -> RevenueEvent:
    """Add an event."""
    fields = {
        "amount": _check_amount(amount),
        "currency": _check_currency(currency),
        "source": check_name("source", source),
        "description": None,
        "metadata": as_jsonb_object("metadata", metadata),
    }
    if description is not None:
        fields["description"] = check_text(
            "description", description, max_characters=DESCRIPTION_MAX_CHARACTERS
        )
    return await _REVENUE.append(database, scope, fields, at=at)


async def list_revenue(
    database: TenantDatabase,
    scope: Scope,
    window: EventWindow,
    *,
    currency: str | None,
    before: UUID | str | None,
    limit: int,
) -> list[RevenueEvent]:
    """Events in a window, newest first."""
    filters = {"currency": _check_currency(currency) if currency is not None else None}
    return await _REVENUE.page(database, scope, window, before=before, limit=limit, filters=filters)


async def revenue_totals(database: TenantDatabase, scope: Scope, window: EventWindow) -> list[RevenueTotal]:
    """Sum of a window's events for each currency."""
    parameters = window.parameters(scope)
    async with database.transaction() as transaction:
        return [RevenueTotal(**row) for row in await transaction.rows("revenue_events.totals", parameters)]


def _check_amount(amount: object) -> Decimal:
    if isinstance(amount, str) and _DIGITS.fullmatch(amount):
        return Decimal(amount)
    if isinstance(amount, int) and not isinstance(amount, bool) and abs(amount) < AMOUNT_LIMIT:
        return Decimal(amount)
    if isinstance(amount, Decimal) and _is_storable(amount):
        return amount
    raise InvalidInputError(
        "amount must be an int, a Decimal or text such as '12.50', with at most 20 digits before the point "
        "and 18 after it. Floats are not exact; pass str(value) if that is what you mean."
    )


def _is_storable(amount: Decimal) -> bool:
    exponent = amount.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -AMOUNT_MAX_DECIMALS and abs(amount) < AMOUNT_LIMIT


def _check_currency(currency: object) -> str:
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        raise InvalidInputError("currency must be a code of 3 letters, such as EUR or USD.")
    return currency.upper()
