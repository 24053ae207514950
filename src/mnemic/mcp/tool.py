"""A tool: its name, its description for the model, the schemas of its arguments and result, and a function.

Arguments and results are pydantic models. Clients get their JSON schemas, and arguments are validated before
the function is called. A result is sent twice: as structured content for programs, and as text for the model.
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
    "description": "The owner: the name of a user or agent. Owners never see each other's memories.",
}

MemoryId = Annotated[
    str,
    Field(
        min_length=36,
        max_length=36,
        description="The id of a memory from recall, such as 0199f3a2-5b7c-7d10-8a42-1f0e9c3b7d55.",
    ),
]


class Arguments(BaseModel):
    """The arguments of a tool; an unknown argument is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolResult(BaseModel):
    """The result of a tool."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    @abstractmethod
    def texts(self) -> list[str]:
        """The result for a model: its text blocks, in order."""

    def structured(self) -> dict[str, Any]:
        """The result for a program."""
        return self.model_dump(mode="json", by_alias=True)


@dataclass(frozen=True)
class MemoryTool:
    """One tool. Keys with the role read cannot use it if it `writes`.

    A tool that `needs_embedder` is listed only while the embedding model works.
    """

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
        """The description for the list of tools."""
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
