"""MCP resources: recent memories, entities, conversations, and each of them by its URI.

URIs begin with ``memory://``. A resource is plain text of at most `RESULT_MAX_CHARACTERS`. A client that is
not bound to an owner has no resources, because a URI does not name an owner.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from mcp.shared.uri_template import UriTemplate
from mcp_types import Resource, ResourceTemplate

from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.mcp.size_limits import fitting, truncated
from mnemic.mcp.tool_results import entity_card, readable_memory, time_of
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory import MemoryRecord

RECENT_MEMORIES = 50
LISTED_ENTITIES = 500
LISTED_CONVERSATIONS = 100
TURNS_SHOWN = 200
NAMESAKES_SHOWN = 5
TEXT = "text/plain"

MEMORY = UriTemplate.parse("memory://memories/{memory_id}")
ENTITY = UriTemplate.parse("memory://entities/{name}")
CONVERSATION = UriTemplate.parse("memory://conversations/{conversation}")


def memory_uri(memory_id: UUID) -> str:
    """The URI of a memory."""
    return MEMORY.expand({"memory_id": str(memory_id)})


@dataclass(frozen=True)
class StaticResource:
    """A resource with a fixed URI."""

    uri: str
    name: str
    description: str
    read: Callable[[AsyncMemory], Awaitable[str]]

    def described(self) -> Resource:
        """The description for the list of resources."""
        return Resource(uri=self.uri, name=self.name, description=self.description, mime_type=TEXT)


@dataclass(frozen=True)
class ResourceFamily:
    """Resources that share a URI template."""

    template: UriTemplate
    name: str
    description: str
    read: Callable[[AsyncMemory, str], Awaitable[str]]

    def described(self) -> ResourceTemplate:
        """The description for the list of resources."""
        return ResourceTemplate(
            uri_template=str(self.template), name=self.name, description=self.description, mime_type=TEXT
        )

    def key_in(self, uri: str) -> str | None:
        """The value of the template's variable in a URI, or None if the URI does not match."""
        matched = self.template.match(uri)
        return None if matched is None else str(next(iter(matched.values())))


async def read_resource(memory: AsyncMemory, uri: str) -> str:
    """The text of a resource; NotFoundError if the URI is unknown."""
    if memory.owner is None:
        raise InvalidInputError("Resources need an owner; this connection is bound to none. Use the tools.")
    for resource in STATIC_RESOURCES:
        if resource.uri == uri:
            return truncated(await resource.read(memory))
    for family in RESOURCE_FAMILIES:
        key = family.key_in(uri)
        if key:
            return truncated(await family.read(memory, key))
    raise NotFoundError(f"There is no resource {uri}.")


async def _recent(memory: AsyncMemory) -> str:
    return _lines(await memory.memories.list(limit=RECENT_MEMORIES)) or "Nothing is remembered yet."


async def _entities(memory: AsyncMemory) -> str:
    known = await memory.entities.list(limit=LISTED_ENTITIES)
    lines = [
        f"- {entity.name} ({entity.category}): {ENTITY.expand({'name': entity.name})}"
        for entity in sorted(known, key=lambda entity: -entity.salience)
    ]
    return "\n".join(fitting(lines, len)) or "Nobody and nothing is known by name yet."


async def _conversations(memory: AsyncMemory) -> str:
    lines = [
        f"- {held.last_turn_at:%Y-%m-%d} {held.conversation}, {held.turn_count} turns: "
        f"{CONVERSATION.expand({'conversation': held.conversation})}"
        for held in await memory.conversations.list(limit=LISTED_CONVERSATIONS)
    ]
    return "\n".join(fitting(lines, len)) or "No conversation is remembered yet."


async def _memory(memory: AsyncMemory, memory_id: str) -> str:
    record = await readable_memory(memory, memory_id)
    known = {
        "when": f"{time_of(record):%Y-%m-%d %H:%M} UTC",
        "who": record.name or record.role,
        "category": record.category,
        "tags": ", ".join(record.tags),
        "conversation": record.conversation,
        "status": record.status,
        "superseded by": record.superseded_by,
    }
    head = [f"{name}: {value}" for name, value in known.items() if value]
    return "\n".join([*head, "", await memory.memories.whole(memory_id)])


async def _entity(memory: AsyncMemory, name: str) -> str:
    found = await memory.entities.find(name, limit=NAMESAKES_SHOWN)
    if not found:
        raise NotFoundError(f"No entity is called {name!r}.")
    cards = [await entity_card(memory, entity) for entity in found]
    return "\n\n".join("\n".join(card.lines()) for card in cards)


async def _conversation(memory: AsyncMemory, conversation: str) -> str:
    """The last turns, in order."""
    held = await memory.conversations.get(conversation)
    turns = await memory.conversations.recent(conversation=conversation, limit=TURNS_SHOWN)
    more = held.turn_count - len(turns)
    head = [f"{more} earlier turns are not shown."] if more > 0 else []
    return "\n".join([*head, _lines(turns)])


def _lines(memories: Sequence[MemoryRecord]) -> str:
    return "\n".join(fitting(map(_line, memories), len))


def _line(memory: MemoryRecord) -> str:
    who = memory.name or memory.role
    said = f"{who}: {memory.content}" if who else memory.content
    return f"- [{time_of(memory):%Y-%m-%d}] {said} ({memory_uri(memory.memory_id)})"


STATIC_RESOURCES = (
    StaticResource(
        "memory://recent", "Recent memories", f"The last {RECENT_MEMORIES} memories, newest first.", _recent
    ),
    StaticResource(
        "memory://entities", "Known entities", "People, projects and things known by name.", _entities
    ),
    StaticResource(
        "memory://conversations", "Conversations", "Remembered conversations, latest first.", _conversations
    ),
)
RESOURCE_FAMILIES = (
    ResourceFamily(MEMORY, "A memory", "The whole text of one memory, by its id.", _memory),
    ResourceFamily(ENTITY, "An entity", "What is known about a person or thing, by name or alias.", _entity),
    ResourceFamily(
        CONVERSATION, "A conversation", "The last turns of a conversation, by its name.", _conversation
    ),
)
