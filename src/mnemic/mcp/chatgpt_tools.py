"""`search` and `fetch`, the two tools that ChatGPT expects of a source for its research.

OpenAI defines their arguments and results: `search` takes a query and returns ids with titles, `fetch` takes
an id and returns the whole text. The result is one text with the same JSON as the structured content.
"""

import json
from typing import Annotated, Any

from pydantic import Field

from mnemic.mcp.resources import memory_uri
from mnemic.mcp.size_limits import LISTED_MAX_CHARACTERS, truncated_as_json
from mnemic.mcp.tool import Arguments, MemoryTool, ToolResult
from mnemic.mcp.tool_results import ResultPart, readable_memory, time_of
from mnemic.recall.packing import passage_of, sharing_label, weakness
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord

RESULTS_MAX = 20
TITLE_MAX_CHARACTERS = 120
QUERY_MAX_CHARACTERS = 4_000
ID_MAX_CHARACTERS = 256


class JsonResult(ToolResult):
    """A result whose text is its JSON."""

    def texts(self) -> list[str]:
        """The JSON."""
        return [json.dumps(self.structured(), ensure_ascii=False)]


class SearchArguments(Arguments):
    """Arguments of `search`."""

    query: Annotated[str, Field(min_length=1, max_length=QUERY_MAX_CHARACTERS)] = Field(
        description="What to look for, in natural language."
    )


class SearchResult(ResultPart):
    """A memory that was found."""

    id: str
    title: str
    url: str


class SearchResults(JsonResult):
    """Results, best first; empty if nothing stored is close enough."""

    results: list[SearchResult]
    note: str | None = Field(default=None, description="Says if the results may not answer the query.")

    def structured(self) -> dict[str, Any]:
        """The results alone, as OpenAI defines them, and the note only if there is one."""
        return self.model_dump(mode="json", exclude_none=True)


async def search(memory: AsyncMemory, given: SearchArguments) -> SearchResults:
    """Find memories, best first."""
    found = await memory.recall(given.query, limit=RESULTS_MAX)
    return SearchResults(
        results=[
            SearchResult(
                id=str(hit.memory.memory_id),
                title=_title(hit.memory, memory.owner),
                url=memory_uri(hit.memory.memory_id),
            )
            for hit in found
        ],
        note=weakness(found.confidence) if found.outcome == "weak" else None,
    )


class FetchArguments(Arguments):
    """Arguments of `fetch`."""

    id: Annotated[str, Field(min_length=1, max_length=ID_MAX_CHARACTERS)] = Field(
        description="The id of a search result."
    )


class FetchResult(JsonResult):
    """A memory with its whole text."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


async def fetch(memory: AsyncMemory, given: FetchArguments) -> FetchResult:
    """The text of a memory; if the memory is a chunk, the whole text that it belongs to."""
    record = await readable_memory(memory, given.id)
    text = await memory.memories.whole(given.id)
    fields = {
        "category": record.category,
        "when": time_of(record).isoformat(),
        "who": record.name or record.role,
        "conversation": record.conversation,
        "tags": ", ".join(record.tags),
        "document": passage_of(record),
    }
    return FetchResult(
        id=given.id,
        title=_title(record, memory.owner),
        text=truncated_as_json(text, LISTED_MAX_CHARACTERS),
        url=memory_uri(record.memory_id),
        metadata={name: value for name, value in fields.items() if value},
    )


def _title(memory: MemoryRecord, reader: str | None) -> str:
    """The beginning of the content, after who shares it, if it belongs to another owner."""
    label = sharing_label(memory.owner, reader)
    line = " ".join([*([f"[{label}]"] if label else []), *memory.content.split()])
    return line if len(line) <= TITLE_MAX_CHARACTERS else f"{line[: TITLE_MAX_CHARACTERS - 1]}…"


CHATGPT_TOOLS = (
    MemoryTool(
        name="search",
        title="Search the memory",
        description=(
            "Search what is remembered: facts, preferences, past conversations, documents. Returns "
            "results, best first, each with an id, a title and a URL to cite. A title begins with "
            "[shared by …] if the memory belongs to somebody else. A note says if the results may not answer "
            "the query: then say that you are not sure. An empty list means that nothing was close enough: "
            "try other words, and make nothing up. Call fetch with an id to read the whole text."
        ),
        arguments=SearchArguments,
        answer=SearchResults,
        run=search,
    ),
    MemoryTool(
        name="fetch",
        title="Read a memory",
        description=(
            "Read the whole text of one search result by its id, with when it happened, who said it and "
            "where it comes from. Use ids that search returned; never make one up."
        ),
        arguments=FetchArguments,
        answer=FetchResult,
        run=fetch,
    ),
)
