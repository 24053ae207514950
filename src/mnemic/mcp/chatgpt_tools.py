"""`search` and `fetch`, the two tools that ChatGPT expects of a source that it researches in.

Their arguments and answers are fixed: `search` takes a query and gives ids with titles, `fetch` takes an id
and gives the whole text. The answer is one text that holds the same JSON as the structured content.
"""

import json
from typing import Annotated

from pydantic import Field

from mnemic.mcp.resources import memory_uri
from mnemic.mcp.size_limits import LISTED_MAX_CHARACTERS, truncated_as_json
from mnemic.mcp.tool import Arguments, MemoryTool, ToolResult
from mnemic.mcp.tool_results import ResultPart, readable_memory, time_of
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord

RESULTS_MAX = 20
TITLE_MAX_CHARACTERS = 120
QUERY_MAX_CHARACTERS = 4_000
ID_MAX_CHARACTERS = 256


class JsonResult(ToolResult):
    """An answer whose text is its own JSON."""

    def texts(self) -> list[str]:
        """One text."""
        return [json.dumps(self.structured(), ensure_ascii=False)]


class SearchArguments(Arguments):
    """A query."""

    query: Annotated[str, Field(min_length=1, max_length=QUERY_MAX_CHARACTERS)] = Field(
        description="What to look for, in natural language."
    )


class SearchResult(ResultPart):
    """A memory by its title."""

    id: str
    title: str
    url: str


class SearchResults(JsonResult):
    """Results, best first; none if nothing stored is close enough."""

    results: list[SearchResult]


async def search(memory: AsyncMemory, given: SearchArguments) -> SearchResults:
    """Find memories, best first."""
    found = await memory.recall(given.query, limit=RESULTS_MAX)
    return SearchResults(
        results=[
            SearchResult(
                id=str(hit.memory.memory_id),
                title=_title(hit.memory),
                url=memory_uri(hit.memory.memory_id),
            )
            for hit in found
        ]
    )


class FetchArguments(Arguments):
    """An id."""

    id: Annotated[str, Field(min_length=1, max_length=ID_MAX_CHARACTERS)] = Field(
        description="The id of a result of search."
    )


class FetchResult(JsonResult):
    """A memory with its whole text."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


async def fetch(memory: AsyncMemory, given: FetchArguments) -> FetchResult:
    """The text of a memory, and if it is a part of a longer one, all of that."""
    record = await readable_memory(memory, given.id)
    text = await memory.memories.whole(given.id)
    known = {
        "category": record.category,
        "when": time_of(record).isoformat(),
        "who": record.name or record.role,
        "conversation": record.conversation,
        "tags": ", ".join(record.tags),
    }
    return FetchResult(
        id=given.id,
        title=_title(record),
        text=truncated_as_json(text, LISTED_MAX_CHARACTERS),
        url=memory_uri(record.memory_id),
        metadata={name: value for name, value in known.items() if value},
    )


def _title(memory: MemoryRecord) -> str:
    line = " ".join(memory.content.split())
    return line if len(line) <= TITLE_MAX_CHARACTERS else f"{line[: TITLE_MAX_CHARACTERS - 1]}…"


CHATGPT_TOOLS = (
    MemoryTool(
        name="search",
        title="Search the memory",
        description=(
            "Search what is remembered: facts, preferences, past conversations, documents. Returns "
            "results, best first, each with an id, a title and a URL to cite; an empty list means that "
            "nothing stored is close enough, and nothing should be made up. Call fetch with an id to read "
            "the whole text."
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
