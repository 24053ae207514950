"""A language model whose requests go through the spend ledger. It needs pydantic-ai, an optional extra.

Before each request, also a repeated one, its worst case is reserved; without that there is no request.
Afterwards the reservation is settled: with the tokens of the response; with nothing if the provider refused
the request; with the worst case if nobody knows, after a timeout or a response without usage, since the
provider may charge for it.
"""

import asyncio
import json
import logging

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from mnemic.errors import MnemicError
from mnemic.models.spending import (
    PlannedCall,
    Reservation,
    SpendLedger,
    UsedTokens,
    counted,
    price_microdollars,
)
from mnemic.types.spend import CallPurpose

REQUEST_OVERHEAD_TOKENS = 512
"""For what a provider adds to a request: names of roles, separators, its own instructions for tools."""

SETTLE_TIMEOUT_S = 5.0
"""How long the caller of a cancelled request waits for the ledger."""

logger = logging.getLogger("mnemic.models")


class MeteredModel(WrapperModel):
    """Reserves, calls and settles. `name` is the model in the ledger. At the end, await `settled`."""

    def __init__(self, wrapped: Model, ledger: SpendLedger, purpose: CallPurpose, name: str) -> None:
        super().__init__(wrapped)
        self._ledger = ledger
        self._purpose: CallPurpose = purpose
        self._name = name
        self._settling: set[asyncio.Task[None]] = set()

    async def settled(self) -> None:
        """Wait until cancelled requests have been settled."""
        if self._settling:
            await asyncio.wait(self._settling, timeout=SETTLE_TIMEOUT_S)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Make a request if the caps allow its worst case. Raises SpendCapError if they do not."""
        planned = self._planned(messages, model_settings, model_request_parameters)
        reservation = await self._ledger.reserve(planned)
        try:
            response = await self.wrapped.request(messages, model_settings, model_request_parameters)
        except asyncio.CancelledError:
            # In a task of its own: pydantic-ai cancels every further await of a cancelled request.
            self._settling.add(asyncio.create_task(self._settle(reservation, None)))
            raise
        except BaseException:
            await self._fail(reservation)
            raise
        await self._settle(reservation, self._used(response))
        return response

    def _planned(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        parameters: ModelRequestParameters,
    ) -> PlannedCall:
        # A text has at most as many tokens as bytes; the JSON of messages is longer than their text.
        sent = len(ModelMessagesTypeAdapter.dump_json(messages)) + sum(
            len(json.dumps(tool.parameters_json_schema)) + len(tool.description or "") + len(tool.name)
            for tool in (*parameters.function_tools, *parameters.output_tools)
        )
        sent += len(str(parameters.output_object or ""))
        usage = RequestUsage(
            input_tokens=counted(sent + REQUEST_OVERHEAD_TOKENS),
            output_tokens=counted((model_settings or {}).get("max_tokens", 0)),
        )
        return PlannedCall(
            self._purpose, self._name, usage.input_tokens, usage.output_tokens, self._price(usage)
        )

    def _used(self, response: ModelResponse) -> UsedTokens | None:
        usage = response.usage
        if not usage.has_values():
            return None
        return UsedTokens(counted(usage.input_tokens), counted(usage.output_tokens), self._price(usage))

    def _price(self, usage: RequestUsage) -> int | None:
        return price_microdollars(usage, self.wrapped.model_name, self.wrapped.system)

    async def _settle(self, reservation: Reservation, used: UsedTokens | None) -> None:
        """The caller gets the response even if the ledger fails; its lease then ends the reservation."""
        try:
            await self._ledger.settle(reservation, used)
        except MnemicError as error:
            logger.warning("a call of %s could not be settled: %s", self._name, error)

    async def _fail(self, reservation: Reservation) -> None:
        try:
            await self._ledger.fail(reservation)
        except MnemicError as error:
            logger.warning("the reservation of a call of %s could not be returned: %s", self._name, error)
