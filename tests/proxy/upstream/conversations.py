"""Whether each request of a conversation repeats the one before it and appends to it.

A conversation is recognised by what the stand-in gave out: ids of calls and of reasoning, and texts. A
request that holds nothing of that begins a conversation.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import takewhile


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A request that changed what the one before had sent."""

    request: int
    """Number of the request, from 0."""
    at: int
    """First unit that differs."""
    before: str
    after: str

    def __str__(self) -> str:
        return f"request {self.request} changed unit {self.at}:\n  {self.before[:400]}\n  {self.after[:400]}"


@dataclass
class _Conversation:
    units: list[str]
    ids: set[str] = field(default_factory=set)


class Conversations:
    """All conversations that a stand-in has seen."""

    def __init__(self) -> None:
        self.rewrites: list[Rewrite] = []
        self.allowed: list[Rewrite] = []
        """Rewrites that a test announced."""
        self._known: list[_Conversation] = []
        self._epochs_announced = 0

    def begin_epoch(self) -> None:
        """Allow the next request that rewrites to do so."""
        self._epochs_announced += 1

    def check(self, request: int, units: Sequence[str], ids: Collection[str]) -> Rewrite | None:
        """Compare a request with the one before it; return and note a rewrite that was not announced.

        `ids` are those in the request that the stand-in gave out.
        """
        conversation = self._find(units, set(ids))
        if conversation is None:
            self._known.append(_Conversation(list(units), set(ids)))
            return None
        found = _first_difference(request, conversation.units, units)
        conversation.units = list(units)
        conversation.ids |= set(ids)
        return self._noted(found)

    def issue(self, units: Sequence[str], ids: Collection[str]) -> None:
        """Note the ids of the response to a request."""
        for conversation in self._known:
            if conversation.units == list(units):
                conversation.ids |= set(ids)

    def _find(self, units: Sequence[str], ids: set[str]) -> _Conversation | None:
        """The conversation that holds most of the ids; of several, the one with the same beginning."""
        named = [one for one in self._known if one.ids & ids]
        return max(named, key=lambda one: (len(one.ids & ids), _shared(one.units, units)), default=None)

    def _noted(self, found: Rewrite | None) -> Rewrite | None:
        if found is None:
            return None
        if self._epochs_announced:
            self._epochs_announced -= 1
            self.allowed.append(found)
            return None
        self.rewrites.append(found)
        return found


def _shared(first: Sequence[str], second: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _first_difference(request: int, before: Sequence[str], after: Sequence[str]) -> Rewrite | None:
    at = _shared(before, after)
    if at == len(before):
        return None
    return Rewrite(request, at, before[at], after[at] if at < len(after) else "")
