"""Language models whose answers a test writes, and which remember what they were asked."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from mnemic.models.language import LanguageModel, open_language_model


@dataclass
class Script:
    """Gives `answer` for every question: the fields of the object, a text that is none, or a failure."""

    answer: dict[str, Any] | str | Exception
    tasks: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    settings: list[Any] = field(default_factory=list)

    async def reply(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        """One request of pydantic-ai."""
        self.tasks.append(info.instructions or "")
        self.settings.append(info.model_settings)
        parts = [part for message in messages for part in message.parts]
        self.texts += [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
        if isinstance(self.answer, Exception):
            raise self.answer
        if isinstance(self.answer, str):
            return ModelResponse(parts=[TextPart(self.answer)])
        return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, json.dumps(self.answer))])

    def open(self) -> LanguageModel:
        """The model that follows this script."""
        return opened(FunctionModel(self.reply, model_name="scripted"))


def by_field(**answers: Any) -> LanguageModel:
    """A model that knows the answer by the first field it is asked to fill; a failure is raised."""

    async def reply(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tool = info.output_tools[0]
        answer = answers[next(iter(tool.parameters_json_schema["properties"]))]
        if isinstance(answer, Exception):
            raise answer
        if answer is NEVER:
            await asyncio.Event().wait()
        return ModelResponse(parts=[ToolCallPart(tool.name, answer)])

    return opened(FunctionModel(reply, model_name="scripted"))


NEVER = object()
"""An answer that does not come."""


def silent() -> LanguageModel:
    """A model that never answers."""

    async def reply(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError("nobody sets the event")

    return opened(FunctionModel(reply, model_name="silent"))


def opened(model: FunctionModel) -> LanguageModel:
    """The model as Mnemic uses it."""
    language_model = open_language_model(model)
    assert language_model is not None
    return language_model
