"""What a level is made from, and what it holds."""

from dataclasses import dataclass
from typing import Literal

ObjectType = Literal["file", "command", "search", "diff", "data", "prose", "message", "other"]
Level = Literal[0, 1, 2, 3, 4]
FULL: Level = 0
EVICTED: Level = 4


@dataclass(frozen=True, slots=True)
class Source:
    """The full text of an object, and what is known about its origin."""

    text: str
    type: ObjectType
    tool: str = ""
    key: str = ""
    """What the tool was asked for: a path, a command, a pattern."""
    is_error: bool = False
    handle: str = ""
    """How the model asks for the full text (`memory_query`, `memory_restore`); empty: by the key."""
    follows_call: bool = False
    """Whether it stands right after its call, which shows tool and key: no need to repeat them."""


@dataclass(frozen=True, slots=True)
class LevelText:
    """An object at one level. The text is deterministic: the same source gives the same bytes."""

    level: Level
    text: str
    tokens: int
    lost: tuple[str, ...] = ()
    """What the text left out, such as "bodies of 12 functions"."""
    can_answer: tuple[str, ...] = ()
    """Which questions it still answers, such as "which functions the file defines"."""
    fault_when: tuple[str, ...] = ()
    """When the full text is needed, such as "editing the file"."""
