"""A language model that answers a call of the extractor by a function of the document that it reads."""

import asyncio
import json
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

Document = dict[str, Any]

NEVER = object()
"""Makes the model never respond."""


class FactsModel(FunctionModel):
    """Answers with facts or with anything else that a model might say, or by a function of the document."""

    def __init__(self, reply: Any = ()) -> None:
        super().__init__(self._respond, model_name="scripted")
        self.documents: list[Document] = []
        self.tasks: list[str] = []
        self._answer = reply

    async def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        (text,) = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
        self.documents.append(json.loads(text))
        self.tasks.append(info.instructions or "")
        answer = self._answer(self.documents[-1]) if callable(self._answer) else self._answer
        if answer is NEVER:
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            return ModelResponse(parts=[TextPart(answer)])
        facts = {"facts": list(answer)} if isinstance(answer, list | tuple) else answer
        return ModelResponse(
            parts=[TextPart("Here you are."), ToolCallPart(info.output_tools[0].name, facts)]
        )


def fact(turn: int, quotation: str, **fields: Any) -> dict[str, Any]:
    """A fact about the user, as a model gives it."""
    return {
        "turn": turn,
        "quotation": quotation,
        "subject": "The user",
        "attribute": "lives_in",
        "value": quotation.split()[-1].strip("."),
        "statement": f"The user lives in {quotation.split()[-1].strip('.')}.",
        **fields,
    }
