"""Memory tools for agents of pydantic-ai.

    agent = Agent("openai:gpt-5-mini", toolsets=[memory_toolset(memory)])

The tools are bound to the owner of the memory: a model cannot name another one. `query_archive` relies on
vector search, so it is offered only while the embedder works; `recall` also uses lexical search and is always
there.
"""

import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeVar

from mnemic.errors import ConfigurationError, InvalidInputError, MnemicError, NotFoundError, install_extra
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import Category
from mnemic.types.recalled import Recalled

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import FunctionToolset

Result = TypeVar("Result")

TEXT_MAX_TOKENS = 2_000
"""Limit for the answer of a tool."""

PROBE_CACHE_S = 60.0
"""How long the result of a probe of the embedder is reused."""

# No memory has this tag: a recall with it embeds the query and finds nothing.
PROBE = "mnemic:probe"


def memory_toolset(memory: AsyncMemory) -> "FunctionToolset[Any]":
    """The tools retain, recall, query_archive and forget, for an open memory with an owner."""
    if memory.owner is None:
        raise InvalidInputError("The memory needs an owner: memory_toolset(memory.scope(owner=…)).")
    try:
        from pydantic_ai.toolsets import FunctionToolset  # noqa: PLC0415  # The extra `providers`.
    except ImportError as error:
        raise ConfigurationError(f"The toolset needs pydantic-ai. {install_extra('providers')}.") from error
    tools = _Tools(memory)
    toolset: FunctionToolset[Any] = FunctionToolset(id="mnemic")
    for function in (tools.retain, tools.recall, tools.forget):
        toolset.add_function(function, takes_ctx=False)
    toolset.add_function(tools.query_archive, takes_ctx=False, prepare=tools.while_available)
    return toolset


class _Tools:
    """The functions that a model calls. The model reads their docstrings."""

    def __init__(self, memory: AsyncMemory) -> None:
        self._memory = memory
        self._is_available = False
        self._valid_until_s = 0.0

    async def retain(self, content: str, category: Category | None = None) -> str:
        """Remember something for later conversations: a fact, a preference, an event, an instruction.

        Args:
            content: One full sentence that makes sense outside this conversation: names instead of
                pronouns, dates instead of "yesterday".
            category: The kind of memory; factual by default.
        """
        retained = await _with_retry(self._memory.retain(content, category=category))
        return f"{'Stored' if retained.stored_count else 'Known already'}: {retained.memory_ids[0]}"

    async def recall(self, query: str, limit: int = 10) -> str:
        """Look up what is remembered, best first, before asking the user or guessing.

        If the first line says that the memories may not answer the question, use what fits and say that you
        are not sure. If nothing is found, try other words before you say that nothing is known.

        Args:
            query: What to look for, in natural language.
            limit: Most memories to return.
        """
        found = await _with_retry(self._memory.recall(query, limit=limit, max_tokens=TEXT_MAX_TOKENS))
        return _answer(found)

    async def query_archive(self, question: str) -> str:
        """Answer a question from the archive of memories, or learn that it has no answer.

        If the first line says that the memories may not answer the question, say that you are not sure. If
        nothing is found, try other words, then say that it was not found: do not guess.

        Args:
            question: One question in a full sentence, as you would ask a person.
        """
        return _answer(await _with_retry(self._memory.recall(question, max_tokens=TEXT_MAX_TOKENS)))

    async def forget(self, memory_id: str, reason: str | None = None) -> str:
        """Stop recalling a memory that is wrong or no longer wanted. It can be restored.

        Args:
            memory_id: The id that recall or retain returned.
            reason: The reason, for the memory's history.
        """
        forgotten = await _with_retry(self._memory.memories.forget(memory_id, reason=reason))
        return f"Forgotten: {forgotten.content}"

    async def while_available(
        self, context: "RunContext[Any]", definition: "ToolDefinition"
    ) -> "ToolDefinition | None":
        """The tool definition while the embedder works, otherwise None."""
        if time.monotonic() >= self._valid_until_s:
            self._is_available = await self._probe()
            self._valid_until_s = time.monotonic() + PROBE_CACHE_S
        return definition if self._is_available else None

    async def _probe(self) -> bool:
        """Recall by vector search only; if the embedder fails, the result has a note."""
        try:
            found = await self._memory.recall(
                "probe", tags=[PROBE], techniques=["vector"], limit=1, record=False
            )
        except MnemicError:
            return False
        return not found.notes


async def _with_retry(call: Awaitable[Result]) -> Result:
    """Await a call; an error that the model caused is returned to it, so that it can try again."""
    from pydantic_ai import ModelRetry  # noqa: PLC0415  # The extra `providers`.

    try:
        return await call
    except (InvalidInputError, NotFoundError) as error:
        raise ModelRetry(str(error)) from error


def _answer(found: Recalled) -> str:
    """The memories with their ids, marked if they are weak, or a text that nothing was found."""
    if found.refused:
        return f"Nothing found. {found.reason}"
    ids = ", ".join(str(hit.memory.memory_id) for hit in found)
    return f"{found.text}\n\nIds, in this order: {ids}"
