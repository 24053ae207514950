"""`memory.spend`: what calls of language models cost, and caps on it."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from mnemic.govern import spend
from mnemic.govern.groups import require_tenant
from mnemic.sdk.routing import CallGroup, routed
from mnemic.types.spend import ModelPrice, SpendCaps, SpendLine, SpendPeriod


class AsyncSpend(CallGroup):
    """The spend ledger of the tenant: every call of a language model, its tokens and its price.

    Changing caps and prices is for administrators, on a memory without an owner, and is recorded in the audit
    log.
    """

    @routed("spend.summary")
    async def summary(
        self,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int = 1_000,
    ) -> Sequence[SpendLine]:
        """Return the calls and their cost by day, purpose and model, newest day first.

        Calls at or after `since` and before `until` count. Days are those of UTC. A call in progress counts
        as a call without tokens.
        """
        return await spend.summary(self._caller.database, since=since, until=until, limit=limit)

    @routed("spend.caps")
    async def caps(self) -> SpendCaps:
        """Return the caps of the day, the month and of all time, and what counts against them now."""
        return await spend.read_caps(self._caller.database, self._operator_cap)

    @routed("spend.set_cap")
    async def set_cap(self, usd: Decimal | int | str | None, *, period: SpendPeriod = "day") -> SpendCaps:
        """Set the most that calls of language models may cost in a period, in US dollars; None removes it.

        A call is made only if its worst case fits below all caps; otherwise it raises SpendCapError. Recall
        then works without the model, and jobs wait until the period ends.
        """
        return await spend.set_cap(
            self._caller.database,
            require_tenant(self._scope),
            usd,
            period=period,
            operator_cap=self._operator_cap,
        )

    @routed("spend.prices")
    async def prices(self) -> Sequence[ModelPrice]:
        """Return the prices that were set by hand."""
        return await spend.list_prices(self._caller.database)

    @routed("spend.set_price")
    async def set_price(
        self, model: str, *, input_usd: Decimal | int | str, output_usd: Decimal | int | str
    ) -> ModelPrice:
        """Set the price of a model, in dollars per million tokens of input and of output.

        It replaces the known price. `model` is the name in the summary, such as `openai:gpt-5-mini`. Calls
        that were made before keep their price.
        """
        return await spend.set_price(
            self._caller.database,
            require_tenant(self._scope),
            model,
            input_usd=input_usd,
            output_usd=output_usd,
        )

    @routed("spend.remove_price")
    async def remove_price(self, model: str) -> None:
        """Remove a price that was set by hand; NotFoundError if there is none."""
        await spend.remove_price(self._caller.database, require_tenant(self._scope), model)

    @property
    def _operator_cap(self) -> Decimal | None:
        return self._caller.core.settings.spend_cap_usd_per_day
