"""One entry of a prompt as the window keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from mnemic.context.entry import Entry
from mnemic.context.levels.level import FULL, Level, ObjectType, Source
from mnemic.context.names import names_of
from mnemic.context.step import SavedObject

LOWEST: Level = 3
"""The level to which age and supersession lower an object."""
HANDLE_HEX = 6
"""Digits of a handle; more when two objects of a window would share it."""
DIGEST_HEX = 64


def handle_of(key: str, digits: int = HANDLE_HEX) -> str:
    """A short name by which the model asks for an object."""
    return "m" + sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def free_handle(key: str, taken: Mapping[str, str]) -> str:
    """The shortest handle that no other key has taken; `taken` holds keys by handle."""
    handles = (handle_of(key, digits) for digits in range(HANDLE_HEX, DIGEST_HEX))
    return next((each for each in handles if taken.get(each, key) == key), handle_of(key, DIGEST_HEX))


@dataclass(slots=True)
class Piece:
    """An entry, and, if its text may be replaced, the object that stands for it."""

    entry: Entry
    is_object: bool
    first_call: int
    last_use: int
    type: ObjectType = "other"
    source_key: str = ""
    path: str = ""
    """The file that it shows, if it came from a tool that reads or edits files."""
    handle: str = ""
    level: Level = FULL
    sent_text: str | None = None
    """What is sent in its place; None means the full text."""
    is_pinned: bool = False
    superseded_by: str | None = None
    repeats: str | None = None
    """Key of an earlier object that already showed the same text when this one arrived."""
    faults: int = 0
    level_texts: dict[Level, str] = field(default_factory=dict)
    """Levels that were made so far."""
    saved_tokens: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    """Tokens of the levels that were made before a restart."""
    _content_hash: bytes = b""
    _names: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        return self.entry.key

    @property
    def shown(self) -> str:
        """The text that the provider sees."""
        return self.entry.text if self.sent_text is None else self.sent_text

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the full text, found once."""
        if self._names is None:
            self._names = names_of(self.entry.text)
        return self._names

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Names in the text that the provider sees."""
        return self.names if self.is_object and self.sent_text is None else names_of(self.shown)

    @property
    def is_settled(self) -> bool:
        """Whether no epoch changes it any more: it is at the lowest level, and not pinned."""
        return self.level >= LOWEST and not self.is_pinned

    @property
    def content_hash(self) -> bytes:
        """SHA-256 of the full text, computed once."""
        if not self._content_hash:
            self._content_hash = sha256(self.entry.text.encode("utf-8", "surrogatepass")).digest()
        return self._content_hash

    @property
    def source(self) -> Source:
        """What its levels are made from."""
        return Source(
            text=self.entry.text,
            type=self.type,
            tool=self.entry.tool,
            key=self.source_key,
            is_error=self.entry.is_error,
            handle=self.handle,
            follows_call=True,
        )

    def take(self, saved: SavedObject) -> None:
        """Continue as it was stored."""
        self.level, self.sent_text = saved.level, saved.sent_text
        self.first_call, self.last_use = saved.first_call, saved.last_use
        self.is_pinned, self.superseded_by = saved.is_pinned, saved.superseded_by
        self.faults, self.saved_tokens = saved.faults, saved.tokens

    def saved(self, tokens_per_char: float) -> SavedObject:
        """What a store has to keep of it."""
        tokens = [round(len(self.entry.text) * tokens_per_char), *self.saved_tokens[1:]]
        for level, text in self.level_texts.items():
            tokens[level] = round(len(text) * tokens_per_char)
        return SavedObject(
            key=self.key,
            type=self.type,
            tool=self.entry.tool,
            source_key=self.source_key,
            content_hash=self.content_hash,
            tokens=(tokens[0], tokens[1], tokens[2], tokens[3], tokens[4]),
            level=self.level,
            sent_text=self.sent_text,
            first_call=self.first_call,
            last_use=self.last_use,
            is_error=self.entry.is_error,
            is_pinned=self.is_pinned,
            superseded_by=self.superseded_by,
            faults=self.faults,
        )
