"""Sessions in memory: their windows and transcripts, and what is stored of them.

A session is loaded from the database when a request of it arrives and its state is not cached, or when
another process has saved it meanwhile. The cache is bounded in number and in bytes; the least recently used
session leaves it, and is loaded again when it is needed. A session that failed between a decision and its
commit is loaded again, too: what is stored counts.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mnemic.context.level_store import WrittenLevels
from mnemic.context.levels.level import Level, LevelText, Source
from mnemic.context.step import SavedWindow
from mnemic.context.window import Window
from mnemic.proxy.exchanges import Transcript
from mnemic.proxy.protocol import Exchange, HiddenTool, ThinkingCut

SESSIONS_MAX = 1_000
SESSIONS_MAX_BYTES = 512 * 1024**2
"""Of texts in cached sessions. A window refers to the text of the last request."""


@dataclass(frozen=True, slots=True)
class SessionName:
    """Identity of a session: tenants, owners and sessions never share state."""

    tenant: str
    owner: str
    session: str


@dataclass(eq=False)
class OpenSession:
    """The state of a session.

    `lock` is held while a request decides and while the window is saved; `recording_lock` while a turn is
    recorded, which may wait for an embedding model. The next request does not wait for that.
    """

    name: SessionName
    is_provisional: bool = False
    """Whether another conversation could have the same name (`beginning.py`). It is not in the cache, belongs
    to one request, and is stored under another name when the turn ends."""
    recorded_as: str = ""
    """Name of its record; empty: that of the session."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    recording_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    window: Window | None = None
    """None: not loaded."""
    saved: SavedWindow | None = None
    """What is stored of the window; None for a new session."""
    has_begun: bool = False
    """Whether the start of its transcript is stored."""
    tools: tuple[HiddenTool, ...] = ()
    opening: str | None = None
    exchanges: dict[str, Exchange] = field(default_factory=dict)
    cuts: tuple[ThinkingCut, ...] = ()
    unsaved: dict[str, Exchange] = field(default_factory=dict)
    """Exchanges that could not be stored."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Texts that were sent last instead of those of the client, by key."""
    recalled: set[str] = field(default_factory=set)
    """Ids of memories that the session was given."""
    recorded: set[str] | None = None
    """External ids of turns and ids of tool calls that were recorded; None: not loaded."""
    asked: Mapping[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    """Tool and arguments of the calls in the last response, by id: the next request may hold only results."""
    levels: WrittenLevels = field(default_factory=WrittenLevels)
    exchange_characters: int = 0
    size_bytes: int = 0

    @property
    def conversation(self) -> str:
        """The conversation under which turns are recorded."""
        return self.recorded_as or self.name.session

    @property
    def transcript(self) -> Transcript:
        """What every request repeats."""
        return Transcript(self.opening, self.tools, self.exchanges, self.cuts)

    def take(self, window: Window, saved: SavedWindow | None, transcript: Transcript | None) -> None:
        """Continue what is stored."""
        self.window, self.saved = window, saved
        objects = saved.objects if saved is not None else ()
        self.replaced = {each.key: each.sent_text for each in objects if each.sent_text is not None}
        self.begin(transcript or Transcript(None, ()))
        self.has_begun = transcript is not None

    def make_level(self, source: Source, level: Level) -> LevelText:
        """A level of an object, for the window: the one that a model wrote, if there is one by now."""
        return self.levels.make(source, level)

    def begin(self, transcript: Transcript) -> None:
        """Repeat a transcript in every request."""
        self.has_begun = True
        self.tools, self.opening, self.cuts = transcript.tools, transcript.opening, transcript.cuts
        self.exchanges = {**transcript.exchanges, **self.unsaved}
        self.exchange_characters = sum(len(str(each.items)) for each in self.exchanges.values())

    def add(self, exchange: Exchange) -> None:
        """Insert an exchange into every later request."""
        self.exchanges[exchange.key] = exchange
        self.exchange_characters += len(str(exchange.items))

    def forget(self) -> None:
        """Load the state again with the next request."""
        self.window, self.saved = None, None


class OpenSessions:
    """The cache. Not thread-safe: everything happens in one event loop."""

    def __init__(self, *, count_max: int = SESSIONS_MAX, bytes_max: int = SESSIONS_MAX_BYTES) -> None:
        self._count_max = count_max
        self._bytes_max = bytes_max
        self._sessions: OrderedDict[SessionName, OpenSession] = OrderedDict()
        self._size_bytes = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def size_bytes(self) -> int:
        """Bytes of text in all cached sessions."""
        return self._size_bytes

    def get(self, name: SessionName) -> OpenSession:
        """The session, without its state if it was not cached."""
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = OpenSession(name)
        self._sessions.move_to_end(name)
        self._evict(session)
        return session

    def adopt(self, session: OpenSession) -> None:
        """Keep a session that was provisional and has its name now."""
        self._sessions.setdefault(session.name, session)
        self._evict(session)

    def resize(self, session: OpenSession, size_bytes: int) -> None:
        """Say how large a session is now."""
        if self._sessions.get(session.name) is session:
            self._size_bytes += size_bytes - session.size_bytes
            session.size_bytes = size_bytes
            self._evict(session)

    def _evict(self, kept: OpenSession) -> None:
        """Drop the least recently used sessions that no request is using."""
        if len(self._sessions) <= self._count_max and self._size_bytes <= self._bytes_max:
            return
        for name, session in list(self._sessions.items()):
            if len(self._sessions) <= self._count_max and self._size_bytes <= self._bytes_max:
                return
            is_used = session.lock.locked() or session.recording_lock.locked() or bool(session.unsaved)
            if session is not kept and not is_used:
                del self._sessions[name]
                self._size_bytes -= session.size_bytes
