"""The result of `profile`: what is known about an owner or a name at a glance."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args
from uuid import UUID

SectionName = Literal["identity", "people", "work", "preferences", "expertise", "style", "current", "recent"]
SECTION_NAMES: tuple[SectionName, ...] = get_args(SectionName)


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A memory in a profile: what it says, when it happened or was said, and whose memory it is."""

    memory_id: UUID
    at: datetime
    owner: str
    content: str
    score: float


@dataclass(frozen=True, slots=True)
class ProfileSection:
    """Memories about one side of a person or thing, the most telling first.

    `identity` is name, age, home and health; `people` family and others; `work`; `preferences` tastes and
    habits; `expertise` skills and languages; `style` how they want to be answered; `current` plans and open
    matters; `recent` everything else, newest first.
    """

    name: SectionName
    lines: tuple[ProfileLine, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known about an owner or, if `entity` is set, about a name; empty sections are left out.

    `text` is the same for a prompt, within the token budget. `memory_count` is the number of memories that
    the profile was selected from, `notes` say what was left out.
    """

    owner: str
    entity: str | None
    sections: tuple[ProfileSection, ...] = ()
    text: str = ""
    token_count: int = 0
    memory_count: int = 0
    notes: tuple[str, ...] = ()

    def section(self, name: SectionName) -> tuple[ProfileLine, ...]:
        """The lines of a section; empty without it."""
        return next((section.lines for section in self.sections if section.name == name), ())
