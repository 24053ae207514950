"""Keys that recognise turns and entries of a client's transcript in every later request.

A turn of the assistant is recognised by the ids of its calls. A turn without calls is recognised by its text
together with what it answers, because short texts such as "Done." repeat. Clients trim and wrap text, so
whitespace does not count.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Self

KEY_LENGTH = 24
"""Hexadecimal digits of a hash in a key: 96 bits."""
IDS_LENGTH = 512
"""Characters of ids in a key; more are hashed."""


def canonical_text(text: str) -> str:
    """A text with every run of whitespace as one space."""
    return " ".join(text.split())


def text_hash(*texts: str) -> str:
    """A short hash of texts, whitespace aside."""
    joined = "\x00".join(canonical_text(text) for text in texts)
    # Halves of surrogate pairs are no valid UTF-8, and clients do send them.
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:KEY_LENGTH]


def turn_key(call_ids: Iterable[str], *, text: str, answers: str) -> str:
    """The key of a turn of the assistant.

    `answers` identifies what the turn answers, as `Answered` has it.
    """
    ids = ",".join(call_ids)
    if not ids:
        return f"text:{text_hash(answers, text)}"
    return f"calls:{ids}" if len(ids) <= IDS_LENGTH else f"calls:{text_hash(ids)}"


def response_key(response_id: str) -> str:
    """The key of a turn that the provider stores as a response, by the id that the client knows."""
    is_short = len(response_id) <= IDS_LENGTH
    return f"response:{response_id if is_short else text_hash(response_id)}"


def root_hash(texts: Iterable[str]) -> bytes:
    """SHA-256 of the words of the user with which a conversation begins."""
    joined = "\x00".join(canonical_text(text) for text in texts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).digest()


class EntryKeys:
    """Keys of entries that have no id of their own: a hash of the text, and which repetition it is."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def copy(self) -> Self:
        """Keys that go on from the same entry."""
        copied = type(self)()
        copied._seen = self._seen.copy()
        return copied

    def of(self, role: str, text: str) -> str:
        """The key of the next entry with this text."""
        key = f"{role}:{text_hash(text)}"
        self._seen[key] += 1
        count = self._seen[key]
        return key if count == 1 else f"{key}#{count}"


class Answered:
    """What the next turn of the assistant answers: words of the user, or the result of a call.

    Follows a transcript in order. Words of the user and ids of calls are the same in both transcripts, so
    each gives the same keys.
    """

    def __init__(self) -> None:
        self._keys = EntryKeys()
        self.key = ""

    def user(self, text: str) -> None:
        """Words of the user; the same words again are something else."""
        self.key = self._keys.of("user", text)

    def result(self, call_id: str) -> None:
        """The result of a call of the client."""
        self.key = f"result:{call_id}"
