"""`MnemicSession`: the session history of the OpenAI Agents SDK, stored in Mnemic.

    session = MnemicSession("support-42", memory)
    await Runner.run(agent, "…", session=session)

It implements the protocol `agents.memory.Session` without importing the package. Every item is a turn of a
conversation, so that recall finds it later like any other memory; the turn's metadata holds the item itself,
which is returned unchanged.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord
from mnemic.types.page import LIST_MAX
from mnemic.types.scope import check_name

if TYPE_CHECKING:
    from agents.items import TResponseInputItem
    from agents.memory import SessionSettings

METADATA_FIELD = "openai_agents"
TEXT_TYPES = ("input_text", "output_text", "text", "refusal", "summary_text")


class MnemicSession:
    """A session over an open memory, which the caller closes."""

    def __init__(
        self,
        session_id: str,
        memory: AsyncMemory,
        *,
        owner: str | None = None,
        session_settings: "SessionSettings | None" = None,
    ) -> None:
        """`session_id` names the conversation; `session_settings` may limit how many items are returned."""
        self.session_id = check_name("session_id", session_id)
        self.session_settings = session_settings
        self._memory = memory.scope(owner=owner)
        if self._memory.owner is None:
            raise InvalidInputError("The session needs an owner: MnemicSession(session_id, memory, owner=…).")

    async def get_items(self, limit: int | None = None) -> "list[TResponseInputItem]":
        """The items in order; with a limit, the last ones."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        items = [turn.metadata[METADATA_FIELD] for turn in await self._turns()]
        return items if limit is None else items[len(items) - max(0, min(limit, len(items))) :]

    async def add_items(self, items: "list[TResponseInputItem]") -> None:
        """Append items: all of them, or none on an error."""
        if items:
            await self._memory.retain([_turn(item) for item in items], conversation=self.session_id)

    async def pop_item(self) -> "TResponseInputItem | None":
        """Remove and return the last item; None if there is none."""
        turns = await self._turns()
        if not turns:
            return None
        await self._memory.memories.forget(turns[-1].memory_id, reason="popped from its session")
        item: TResponseInputItem = turns[-1].metadata[METADATA_FIELD]
        return item

    async def clear_session(self) -> None:
        """Remove all items. Like every forgotten memory, they can be restored."""
        for turn in await self._turns():
            await self._memory.memories.forget(turn.memory_id, reason="its session was cleared")

    async def _turns(self) -> list[MemoryRecord]:
        """The turns that hold items, in order; for a chunked turn, its first chunk."""
        turns: list[MemoryRecord] = []
        position = 0
        while True:
            page = await self._page(position)
            known = {turn.memory_id for turn in turns}
            turns += [turn for turn in page if _holds_item(turn) and turn.memory_id not in known]
            if len(page) < LIST_MAX:
                return turns
            assert page[-1].position is not None, "a turn has a position"
            # Start at the last turn again: the chunks of a long turn may be on two pages.
            position = max(page[-1].position, position + 1)

    async def _page(self, position: int) -> Sequence[MemoryRecord]:
        try:
            return await self._memory.conversations.turns(
                self.session_id, from_position=position, limit=LIST_MAX
            )
        except NotFoundError:
            return []


def _holds_item(turn: MemoryRecord) -> bool:
    return METADATA_FIELD in turn.metadata and turn.chunk_index in (None, 0)


def _turn(item: object) -> dict[str, Any]:
    """An item as a turn: its text, its role, and the item itself."""
    if not isinstance(item, Mapping):
        raise InvalidInputError(f"An item of a session must be a mapping, not {type(item).__name__}.")
    role = item.get("role") or ("tool" if str(item.get("type", "")).endswith("_output") else "assistant")
    # An item without text, such as a tool call, is stored as its JSON.
    text = "\n".join(_texts(item.get("content"))) or json.dumps(item, ensure_ascii=False, default=str)
    return {"content": text, "role": role, "metadata": {METADATA_FIELD: dict(item)}}


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        if content.strip():
            yield content
    elif isinstance(content, Sequence):
        for part in content:
            if isinstance(part, Mapping) and part.get("type") in TEXT_TYPES:
                yield from _texts(part.get("text") or part.get("refusal"))
