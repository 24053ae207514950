"""What the stand-in needs from each API that it speaks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tests.proxy.upstream.prefix_cache import CacheUse, Unit
from tests.proxy.upstream.script import Part, Place, Tool

Body = dict[str, Any]


class Invalid(Exception):
    """The provider would reject the request: the text is its message."""

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Reading:
    """A valid request."""

    place: Place
    tools: tuple[Tool, ...]
    units: tuple[Unit, ...]
    """The prompt in the order of the cache."""
    ids: frozenset[str]
    """Ids of calls and of reasoning in it, and keys of the assistant's texts."""
    dropped_thinking: tuple[str, ...] = ()
    """Paths of thinking blocks that no longer fit and were dropped."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, whole and as events."""

    whole: Body
    events: tuple[bytes, ...]
    ids: frozenset[str]
    """Ids of its calls and reasoning, and a key of its text."""


class Api(Protocol):
    """One of the APIs."""

    def read(self, body: Body, headers: dict[str, str], issued: Collection[str]) -> Reading:
        """Check a request; raises `Invalid`. `issued` are ids that the stand-in gave out."""

    def cache_use(self, model: str, units: Sequence[Unit]) -> CacheUse:
        """Tokens of a prompt, by the provider's cache."""

    def answer(self, body: Body, reading: Reading, parts: Sequence[Part], use: CacheUse) -> Answer:
        """The response that the script asks for."""

    def error(self, status: int, message: str, code: str | None = None) -> Body:
        """The body of an error."""

    def error_event(self, status: int, message: str) -> bytes:
        """An error in the middle of a stream."""
