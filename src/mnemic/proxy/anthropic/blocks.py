"""Messages and their content blocks. A request may hold thousands of blocks: each is looked at once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from mnemic.proxy.protocol import Body

THINKING = frozenset({"thinking", "redacted_thinking"})

Block = Mapping[str, Any]


class Run:
    """Consecutive messages of one role. The API reads them as one message."""

    __slots__ = ("blocks", "calls", "has_thinking", "messages", "results", "role")

    def __init__(self, role: str, messages: Sequence[Body]) -> None:
        self.role = role
        self.messages = messages
        self.blocks: list[Block] = []
        """All content blocks, in order."""
        self.calls: list[Block] = []
        """Calls of tools."""
        self.results: list[str] = []
        """Ids of the calls that results answer."""
        self.has_thinking = False
        for message in messages:
            self.blocks.extend(blocks_of(message))
        for block in self.blocks:
            kind = block.get("type")
            if kind == "tool_use":
                self.calls.append(block)
            elif kind == "tool_result":
                self.results.append(block.get("tool_use_id", ""))
            elif kind in THINKING:
                self.has_thinking = True

    @property
    def call_ids(self) -> list[str]:
        """Ids of its calls."""
        return [call.get("id", "") for call in self.calls]


def runs_of(messages: Sequence[Body]) -> Iterator[Run]:
    """The messages of a body, consecutive ones of one role together."""
    for role, run in groupby(messages, key=_role):
        yield Run(role, tuple(run))


def blocks_of(message: Body) -> Sequence[Block]:
    """The content of a message as blocks; a plain string is one block of text."""
    content = message.get("content")
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return content if isinstance(content, list) else ()


def texts_of(blocks: Iterable[Block]) -> list[str]:
    """The texts of text blocks."""
    texts = (block.get("text") for block in blocks if block.get("type") == "text")
    return [text for text in texts if isinstance(text, str)]


def result_ids(blocks: Iterable[Block]) -> list[str]:
    """Ids of the calls that results answer."""
    return [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]


def has_words(block: Block) -> bool:
    """Whether a block may be sent: the API rejects text blocks of nothing but whitespace."""
    return block.get("type") != "text" or bool(str(block.get("text", "")).strip())


def _role(message: Body) -> str:
    return str(message.get("role"))
