"""What a tool is: a name, words for the model, the shape of what goes in and comes out, and a function.

Arguments and answers are pydantic models: their JSON schemas are what clients are told, and what a client
sends is checked against them before the function sees it. An answer goes out twice: as structured content
for programs, and as text for the model to read.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field

from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import NAME_MAX_CHARACTERS

OWNER_SCHEMA = {
    "type": "string",
    "minLength": 1,
    "maxLength": NAME_MAX_CHARACTERS,
    "description": "Whose memories: the name of a user or agent. Owners never see each other's memories.",
}

MemoryId = Annotated[
    str,
    Field(
        min_length=36,
        max_length=36,
        description="The id of a memory, as recall gives it, such as 0199f3a2-5b7c-7d10-8a42-1f0e9c3b7d55.",
    ),
]


class Arguments(BaseModel):
    """What a client sends; anything that is not named here is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolResult(BaseModel):
    """What a client gets."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    @abstractmethod
    def texts(self) -> list[str]:
        """The answer for a model to read, one text after the other."""

    def structured(self) -> dict[str, Any]:
        """The answer for a program."""
        return self.model_dump(mode="json", by_alias=True)


@dataclass(frozen=True)
class MemoryTool:
    """One tool. `writes` keeps it from keys that may only read, `needs_embedder` lists it only with one."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    answer: type[ToolResult]
    run: Callable[[AsyncMemory, Any], Awaitable[ToolResult]]
    writes: bool = False
    destroys: bool = False
    is_idempotent: bool = True
    needs_embedder: bool = False

    def described(self, *, takes_owner: bool) -> Tool:
        """The tool as a client lists it."""
        schema = self.arguments.model_json_schema()
        if takes_owner:
            schema["properties"] = {"owner": OWNER_SCHEMA, **schema.get("properties", {})}
            schema["required"] = ["owner", *schema.get("required", [])]
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema,
            output_schema=self.answer.model_json_schema(mode="serialization"),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=not self.writes,
                destructive_hint=self.destroys,
                idempotent_hint=self.is_idempotent,
                open_world_hint=False,
            ),
        )
