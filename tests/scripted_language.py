"""Language models with scripted results, which record their requests."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from mnemic.models.language import LanguageModel, open_language_model


@dataclass
class Script:
    """Returns `answer` for every request: the fields of the object, an invalid text, or a failure."""

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
    """A model whose result depends on the first field of the requested object; an exception is raised."""
    return opened(model_by_field(**answers))


def model_by_field(**answers: Any) -> FunctionModel:
    """The same, as a model of pydantic-ai."""

    async def reply(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tool = info.output_tools[0]
        answer = answers[next(iter(tool.parameters_json_schema["properties"]))]
        if isinstance(answer, Exception):
            raise answer
        if answer is NEVER:
            await asyncio.Event().wait()
        return ModelResponse(parts=[ToolCallPart(tool.name, answer)])

    return FunctionModel(reply, model_name="scripted")


NEVER = object()
"""Makes a model never respond."""


def silent() -> LanguageModel:
    """A model that never responds."""

    async def reply(_: list[ModelMessage], __: AgentInfo) -> ModelResponse:
        await asyncio.Event().wait()
        raise AssertionError("the event is never set")

    return opened(FunctionModel(reply, model_name="silent"))


def opened(model: FunctionModel) -> LanguageModel:
    """The model as Mnemic uses it."""
    language_model = open_language_model(model)
    assert language_model is not None
    return language_model
