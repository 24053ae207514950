"""A language model with a known price and a scripted usage, for tests of the spend ledger."""

import asyncio
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

NAME = "openai:gpt-5-mini"
PASSAGE = {"passage": "Alice owns a canoe"}
UNMEASURED = RequestUsage()


class PricedModel(WrapperModel):
    """Answers every request with `answer`, and says that it used `usage`.

    It has the name of a real model, whose price `genai-prices` knows: 0.25 dollars per million tokens of
    input, 2 of output. Nothing is sent anywhere. With a `gate`, it answers when the gate is open.
    """

    def __init__(
        self, answer: Any = PASSAGE, usage: RequestUsage | None = None, *, gate: asyncio.Event | None = None
    ) -> None:
        super().__init__(FunctionModel(self._reply, model_name="gpt-5-mini"))
        self.answer = answer
        self.usage = usage if usage is not None else RequestUsage(input_tokens=1_000, output_tokens=100)
        self.gate = gate
        self.request_count = 0

    @property
    def system(self) -> str:
        """The provider by which the price is looked up."""
        return "openai"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The scripted response with the scripted usage."""
        self.request_count += 1
        if self.gate is not None:
            await self.gate.wait()
        response = await super().request(messages, model_settings, model_request_parameters)
        response.usage = self.usage
        return response

    async def _reply(self, _: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, str):
            return ModelResponse(parts=[TextPart(self.answer)])
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, self.answer)])
