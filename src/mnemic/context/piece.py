"""One entry of a prompt as the window keeps it."""

from dataclasses import dataclass, field
from hashlib import sha256

from mnemic.context.entry import Entry
from mnemic.context.levels.level import FULL, Level, ObjectType, Source

HANDLE_HEX = 6


def handle_of(key: str) -> str:
    """A short name by which the model asks for an object."""
    return "m" + sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:HANDLE_HEX]


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
    level: Level = FULL
    sent_text: str | None = None
    """What is sent in its place; None means the full text."""
    is_pinned: bool = False
    superseded_by: str | None = None
    repeats: str | None = None
    """Key of an earlier object that already showed the same text when this one arrived."""
    faults: int = 0
    names: tuple[str, ...] = ()
    level_texts: dict[Level, str] = field(default_factory=dict)
    """Levels that were made so far."""

    @property
    def key(self) -> str:
        return self.entry.key

    @property
    def shown(self) -> str:
        """The text that the provider sees."""
        return self.entry.text if self.sent_text is None else self.sent_text

    @property
    def source(self) -> Source:
        """What its levels are made from."""
        return Source(
            text=self.entry.text,
            type=self.type,
            tool=self.entry.tool,
            key=self.source_key,
            is_error=self.entry.is_error,
            handle=handle_of(self.key),
            follows_call=True,
        )
