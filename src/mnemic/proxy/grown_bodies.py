"""Bodies that repeat an earlier one and add to it, as those of an agent do: only what is new is parsed.

Of a body that was answered, its text up to one of the last turns is kept, with what was parsed and read of
it, and its text after the list of messages. A later body that begins and ends with exactly these bytes is the
same JSON with other elements between them, so it is parsed from these elements alone. The last items are not
kept, because clients move the marks of a cache among them. Any other body is parsed as a whole.

A body is found among those of the same tenant, owner, API and client, by comparing bytes. What is kept is
never changed: requests read from copies of a reader, in any thread.
"""

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mnemic.proxy.json_spans import NoSpansError, element_ends, list_span
from mnemic.proxy.open_sessions import SessionName
from mnemic.proxy.protocol import Api, ApiName, Body, Compaction, Conversation, Reader, Unsure
from mnemic.proxy.request_bodies import load_exactly, load_text

KEPT_MAX_BYTES = 256 * 1024**2
"""Of texts that are kept with what was parsed of them, in all."""
TEXT_COPIES = 2
"""The text, and the strings that were parsed of it. The window of its session refers to the same."""
VALUE_BYTES = 200
"""Memory of a parsed value beside its text, an object or a list with its own room included."""
KEPT_PER_CLIENT_MAX = 8
"""Bodies of one client: subagents, and conversations of clients that name no session."""
QUICK_MAX_BYTES = 32 * 1024
"""What a body adds is read and paged in the event loop if it is not larger."""
RECENT_ITEMS = 4
"""The last items of a body, which are parsed again."""

_WHITESPACE = b" \t\n\r"
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ClientKey:
    """Whose bodies are compared. `client` is a digest of what the client names its session."""

    tenant: str
    owner: str
    api: ApiName
    client: bytes


@dataclass(frozen=True, slots=True)
class KeptBody:
    """What is kept of a body."""

    session: SessionName
    start: bytes
    """Its text up to the end of an item."""
    end: bytes
    """Its text from the closing bracket of the items on."""
    body: Body
    """Its fields, with the items in `start`."""
    items: Sequence[Body]
    reader: Reader
    """Has read the items."""
    value_count: int
    """Values in the text, about: many tiny ones take far more memory than their text."""

    @property
    def text_bytes(self) -> int:
        """Bytes of text."""
        return len(self.start) + len(self.end)

    @property
    def size_bytes(self) -> int:
        """Bytes of text and of what was parsed of it, estimated."""
        return TEXT_COPIES * self.text_bytes + VALUE_BYTES * self.value_count

    def added(self, text: bytes) -> bytes | None:
        """What a body has between start and end; None if it begins or ends otherwise."""
        if len(text) < self.text_bytes or not text.startswith(self.start) or not text.endswith(self.end):
            return None
        return text[len(self.start) : len(text) - len(self.end)]


@dataclass(frozen=True, slots=True)
class ReadBody:
    """A body as it was read."""

    text: bytes
    """Decompressed."""
    body: Body
    conversation: Conversation
    compaction: Compaction | None
    """Set if the body asks for a summary."""
    kept: KeptBody | None
    """The kept body that it repeats."""

    @property
    def is_quick(self) -> bool:
        """Whether it adds so little to a kept body that a thread would take longer to start than to run."""
        return self.kept is not None and len(self.text) - self.kept.text_bytes <= QUICK_MAX_BYTES


def read_whole(api: Api, text: bytes) -> ReadBody:
    """Read a body; `Unsure` if the proxy must not touch it."""
    body = load_text(text)
    try:
        return ReadBody(text, body, api.read(body), None, None)
    except Compaction as compaction:
        return ReadBody(text, body, compaction.conversation, compaction, None)


def read_grown(api: Api, text: bytes, kept: KeptBody, added: bytes) -> ReadBody | None:
    """Read a body that repeats a kept one; None if what was added is no list of items."""
    items = _items(added)
    if items is None or (items and not api.begins_turn(kept.items[-1], items[0])):
        return None
    body = {**kept.body, api.items_field: [*kept.items, *items]}
    reader = kept.reader.copy()
    reader.read(items)
    try:
        return ReadBody(text, body, reader.conversation(), None, kept)
    except Compaction as compaction:
        return ReadBody(text, body, compaction.conversation, compaction, kept)


def keep(api: Api, read: ReadBody, session: SessionName) -> KeptBody | None:
    """What is kept of a body that was read; None if it is short, or its items cannot be found in its text.

    Takes milliseconds for a body that repeats none: call it in a thread.
    """
    before = read.kept
    items = read.body[api.items_field]
    count = _kept_count(api, items) if isinstance(items, list) else 0
    known = len(before.items) if before is not None else 0
    if count <= known:
        return before
    try:
        if before is None:
            span = list_span(read.text, api.items_field)
            end, stop = span.ends[count - 1], span.end
            reader = api.reader(read.body)
        else:
            added = before.added(read.text)
            assert added is not None, "the body was read from what it repeats"
            end = len(before.start) + element_ends(added)[count - known - 1]
            stop = len(read.text) - len(before.end)
            reader = before.reader.copy()
    except (NoSpansError, IndexError):
        return None
    reader.read(items[known:count])
    fields = {**read.body, api.items_field: []}
    start, rest = read.text[:end], read.text[stop:]
    if before is None:
        value_count = _value_count(start) + _value_count(rest)
    else:
        value_count = before.value_count + _value_count(start[len(before.start) :])
    return KeptBody(session, start, rest, fields, items[:count], reader, value_count)


class KeptBodies:
    """The kept bodies, within their bounds. Not thread-safe: everything happens in one event loop."""

    def __init__(self, *, bytes_max: int = KEPT_MAX_BYTES) -> None:
        self._bytes_max = bytes_max
        self._clients: OrderedDict[ClientKey, list[KeptBody]] = OrderedDict()
        self._size_bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of all kept bodies, estimated."""
        return self._size_bytes

    def of(self, client: ClientKey) -> Sequence[KeptBody]:
        """The bodies of a client, the newest first."""
        return tuple(self._clients.get(client, ()))

    def add(self, client: ClientKey, kept: KeptBody) -> None:
        """Keep a body, in the place of an earlier one of its session."""
        bodies = self._clients.setdefault(client, [])
        self._clients.move_to_end(client)
        for each in [each for each in bodies if each.session == kept.session]:
            bodies.remove(each)
            self._size_bytes -= each.size_bytes
        bodies.insert(0, kept)
        self._size_bytes += kept.size_bytes
        if len(bodies) > KEPT_PER_CLIENT_MAX:
            self._size_bytes -= bodies.pop().size_bytes
        while self._size_bytes > self._bytes_max:
            _, oldest = self._clients.popitem(last=False)
            self._size_bytes -= sum(each.size_bytes for each in oldest)


def _items(added: bytes) -> list[Any] | None:
    """The elements of a text that follows other elements in a list; None if it is none."""
    rest = added.lstrip(_WHITESPACE)
    if not rest:
        return []
    if not rest.startswith(b","):
        return None
    try:
        items = load_exactly(b"[%b]" % rest[1:])
    except Unsure:
        return None
    is_list = isinstance(items, list) and bool(items) and isinstance(items[0], dict)
    return items if is_list else None


def _value_count(text: bytes) -> int:
    """Values in a JSON text, about: each has a comma before it or opens an object or a list."""
    bare = _STRING.sub(b"", text)
    return sum(map(bare.count, (b",", b"{", b"[")))


def _kept_count(api: Api, items: Sequence[Body]) -> int:
    """How many items are kept: those before one of the last turns of the assistant."""
    for count in range(len(items) - RECENT_ITEMS, 0, -1):
        if api.begins_turn(items[count - 1], items[count]):
            return count
    return 0
