"""What calls of language models cost, and a limit to it.

`MeteredModel` wraps a model of pydantic-ai: before each request it reserves the most that the request can
cost, and afterwards it counts what the provider reports. A request that might exceed the limit is not sent.
"""

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from mnemic.errors import MnemicError
from mnemic.models.language import OUTPUT_MAX_TOKENS

MILLION = 1_000_000
CHARACTERS_PER_TOKEN = 4
"""For estimates, of English."""
CHARACTERS_PER_TOKEN_AT_LEAST = 2
"""For reservations: few languages have tokens this short on average."""


class BudgetReachedError(MnemicError):
    """The next request might exceed the limit of the spending."""


class UnknownPriceError(Exception):
    """The price of a model is not known; the message says what to do."""


class Prices(Protocol):
    """What tokens cost."""

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """The price of one request."""


@dataclass(frozen=True)
class GivenPrices:
    """Prices for a million tokens, in US dollars."""

    input_usd: float
    output_usd: float

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """The price of one request."""
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / MILLION


@dataclass(frozen=True)
class ListedPrices:
    """Prices from the list of genai-prices, which is installed with pydantic-ai."""

    provider: str
    model: str

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """The price of one request. LookupError for a model that is not listed."""
        from genai_prices import Usage, calc_price  # noqa: PLC0415 - an optional extra

        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        return float(calc_price(usage, model_ref=self.model, provider_id=self.provider).total_price)


def find_prices(spec: str, given: GivenPrices | None, option: str) -> Prices:
    """The given prices, or those of the list; `option` is what the message advises."""
    if given is not None:
        return given
    provider, _, model = spec.partition(":")
    listed = ListedPrices(provider, model)
    try:
        listed.usd(1, 1)
    except (ImportError, LookupError) as error:
        raise UnknownPriceError(
            f"The price of {spec} is not known ({error}). Give US dollars for a million input and output "
            f"tokens: {option} 0.25,2"
        ) from error
    return listed


@dataclass
class Spending:
    """Tokens and US dollars."""

    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0


@dataclass
class Budget:
    """What was spent, and what requests in progress may still cost. One event loop uses it."""

    max_usd: float
    spent: Spending = field(default_factory=Spending)
    _reserved_usd: float = 0.0

    def reserve(self, usd: float) -> None:
        """Before a request. BudgetReachedError if it might exceed the limit."""
        if self.spent.usd + self._reserved_usd + usd > self.max_usd:
            raise BudgetReachedError(
                f"The next request could exceed the limit of {self.max_usd:.2f} USD "
                f"({self.spent.usd:.2f} USD are spent). Continue with a higher --max-usd."
            )
        self._reserved_usd += usd

    def settle(self, reserved_usd: float, spent: Spending) -> None:
        """After a request: replace the reservation by what it cost."""
        self._reserved_usd -= reserved_usd
        for each in (self.spent, _of_question.get()):
            if each is not None:
                each.input_tokens += spent.input_tokens
                each.output_tokens += spent.output_tokens
                each.usd += spent.usd


_of_question: ContextVar[Spending | None] = ContextVar("spending of the current question", default=None)


def count_for_question() -> Spending:
    """What the current task, and tasks that it starts, spend from now on."""
    spending = Spending()
    _of_question.set(spending)
    return spending


class MeteredModel(WrapperModel):
    """A model whose requests are counted and limited by a budget."""

    def __init__(self, wrapped: Model, prices: Prices, budget: Budget) -> None:
        super().__init__(wrapped)
        self._prices = prices
        self._budget = budget

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Send a request if the budget allows it."""
        input_tokens = _most_input_tokens(messages, model_request_parameters)
        output_tokens = (model_settings or {}).get("max_tokens", OUTPUT_MAX_TOKENS)
        most_usd = self._prices.usd(input_tokens, output_tokens)
        self._budget.reserve(most_usd)
        spent = Spending()
        try:
            response = await self.wrapped.request(messages, model_settings, model_request_parameters)
            usage = response.usage
            usd = self._prices.usd(usage.input_tokens, usage.output_tokens)
            spent = Spending(usage.input_tokens, usage.output_tokens, usd)
            return response
        except asyncio.CancelledError:
            # After a timeout the provider may charge for an answer that nobody received.
            spent = Spending(usd=most_usd)
            raise
        finally:
            self._budget.settle(most_usd, spent)


def _most_input_tokens(messages: list[ModelMessage], parameters: ModelRequestParameters) -> int:
    # The text of the objects is longer than what is sent.
    return (len(str(messages)) + len(str(parameters))) // CHARACTERS_PER_TOKEN_AT_LEAST
