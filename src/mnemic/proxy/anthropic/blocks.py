"""Messages and their content blocks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from mnemic.proxy.protocol import Body

THINKING = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive messages of one role. The API reads them as one message."""

    role: str
    messages: tuple[Body, ...]

    @property
    def blocks(self) -> Iterator[Mapping[str, Any]]:
        """All content blocks, in order."""
        for message in self.messages:
            yield from blocks_of(message)


def runs_of(messages: Sequence[Body]) -> Iterator[Run]:
    """The messages of a body, consecutive ones of one role together."""
    for role, run in groupby(messages, key=_role):
        yield Run(role, tuple(run))


def blocks_of(message: Body) -> Sequence[Mapping[str, Any]]:
    """The content of a message as blocks; a plain string is one block of text."""
    content = message.get("content")
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return content if isinstance(content, list) else ()


def texts_of(blocks: Iterable[Mapping[str, Any]]) -> list[str]:
    """The texts of text blocks."""
    texts = (block.get("text") for block in blocks if block.get("type") == "text")
    return [text for text in texts if isinstance(text, str)]


def call_ids(blocks: Iterable[Mapping[str, Any]], hidden: frozenset[str] = frozenset()) -> list[str]:
    """Ids of the calls of tools, those of hidden tools aside."""
    calls = (block for block in blocks if block.get("type") == "tool_use")
    return [call["id"] for call in calls if call.get("name") not in hidden]


def result_ids(blocks: Iterable[Mapping[str, Any]]) -> list[str]:
    """Ids of the calls that results answer."""
    return [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]


def has_words(block: Mapping[str, Any]) -> bool:
    """Whether a block may be sent: the API rejects text blocks of nothing but whitespace."""
    return block.get("type") != "text" or bool(str(block.get("text", "")).strip())


def _role(message: Body) -> str:
    return str(message.get("role"))
