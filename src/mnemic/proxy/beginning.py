"""The beginning of a conversation: it names the session if the client does not.

Conversations of the same owner may begin with the same words, at the same time. The provider gives each call
an id of its own, so a conversation is unique from the first turn on that calls a tool of the client. Before
that, it is known by everything that was said. There is nothing to page then, and what is stored under such a
name is never changed: if another conversation has said exactly the same, it continues from a copy.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

DIGITS = 32


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn of the assistant as the client keeps it."""

    text: str
    call_ids: Sequence[str]
    """Of the client's tools."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """A conversation up to its last turn of the assistant, or to the first one with calls."""

    digest: str = ""
    """Empty before the first turn of the assistant."""
    first: str = ""
    """The digest after the first turn."""
    is_unique: bool = False
    """Whether it ends with calls."""
    words: str = ""
    """Hash of what the user has said since."""

    def said(self, text: str) -> Self:
        """After words of the user."""
        return self if self.is_unique else replace(self, words=_hash(self.words, text))

    def answered(self, turn: ShownTurn) -> Self:
        """After a turn of the assistant. Clients may drop a turn that shows nothing: it does not count."""
        text = "".join(turn.text.split())
        if self.is_unique or not (text or turn.call_ids):
            return self
        # A client may change the text of a turn with calls, but not their ids.
        said = ("calls", *turn.call_ids) if turn.call_ids else ("text", text)
        digest = _hash(self.digest, self.words, *said)
        first, is_unique = self.first or digest, bool(turn.call_ids)
        return replace(self, digest=digest, first=first, is_unique=is_unique, words="")

    def after(self, turns: Iterable[str | ShownTurn]) -> Self:
        """After words of the user and turns of the assistant. Reads no more of them than it needs."""
        beginning = self
        if not beginning.is_unique:
            for turn in turns:
                beginning = beginning.said(turn) if isinstance(turn, str) else beginning.answered(turn)
                if beginning.is_unique:
                    break
        return beginning


def _hash(*texts: str) -> str:
    joined = "\x00".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:DIGITS]
