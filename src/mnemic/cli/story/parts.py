"""What a story consists of. Times are days before the story is stored."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from mnemic.types.memory import Category


@dataclass(frozen=True)
class Turn:
    """One message: who said what, and how many minutes after the beginning of the conversation."""

    role: str
    content: str
    minute: int
    name: str | None = None


@dataclass(frozen=True)
class Conversation:
    """A conversation, with the tools that the agent called in it and whether it ended well."""

    name: str
    days_ago: float
    turns: tuple[Turn, ...]
    tools: tuple[str, ...] = ()
    succeeded: bool | None = None


@dataclass(frozen=True)
class Note:
    """A memory beside the conversations."""

    content: str
    days_ago: float
    category: Category
    tags: tuple[str, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True)
class Entity:
    """Somebody or something, with its first facts."""

    category: str
    name: str
    facts: dict[str, object]
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Goal:
    """A goal; `part_of` is the position of a goal that stands before it in the list."""

    content: str
    priority: int
    part_of: int | None = None


@dataclass(frozen=True)
class Strategy:
    """What to do for a kind of task, and whether it worked."""

    task: str
    content: str
    tools: tuple[str, ...]
    succeeded: bool


@dataclass(frozen=True)
class Document:
    """A document that an agent reads."""

    name: str
    title: str
    text: str


@dataclass(frozen=True)
class JobPart:
    """A job of the agent's own; `error` is the message of the exception that ends it, if any."""

    type: str
    payload: dict[str, object]
    error: str | None = None


@dataclass(frozen=True)
class Story:
    """A year of one owner."""

    owner: str
    conversations: tuple[Conversation, ...] = ()
    notes: tuple[Note, ...] = ()
    anchored: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    # Name, kind of relation, name.
    relations: tuple[tuple[str, str, str], ...] = ()
    # Entity, attribute, and the value that replaces the first one.
    changed_facts: tuple[tuple[str, str, str], ...] = ()
    goals: tuple[Goal, ...] = ()
    strategies: tuple[Strategy, ...] = ()
    documents: tuple[Document, ...] = ()
    jobs: tuple[JobPart, ...] = ()
    questions: tuple[str, ...] = ()
    # Memories that somebody corrects: text, corrected text, reason.
    corrections: tuple[tuple[str, str, str], ...] = field(default=())
    # Memories that somebody takes back: text, reason.
    forgotten: tuple[tuple[str, str], ...] = ()


def dialogue(speaker: str, *pairs: tuple[str, str]) -> tuple[Turn, ...]:
    """Turns of a speaker and of the assistant who answers, a minute apart."""
    return tuple(_alternate(speaker, pairs))


def _alternate(speaker: str, pairs: tuple[tuple[str, str], ...]) -> Iterator[Turn]:
    for position, (said, answered) in enumerate(pairs):
        yield Turn("user", said, 2 * position, speaker)
        yield Turn("assistant", answered, 2 * position + 1)
