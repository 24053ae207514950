"""The results of Mnemic's own tools, built from what `AsyncMemory` returns."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, assert_never

from pydantic import BaseModel, ConfigDict, Field

from mnemic.errors import NotFoundError
from mnemic.mcp.reference_graph import stated_observations
from mnemic.mcp.size_limits import fitting, json_size, truncated, truncated_as_json
from mnemic.mcp.tool import ToolResult
from mnemic.recall.packing import indented, passage_of, sharing_label, weakness
from mnemic.sdk.memory import AsyncMemory
from mnemic.sdk.observations import OBSERVATION
from mnemic.types.entity import Entity
from mnemic.types.memory import MemoryRecord
from mnemic.types.recalled import Hit, Outcome, Recalled

MENTIONS_READ = 20
MENTIONS_SHOWN = 5
MENTION_MAX_CHARACTERS = 500
RELATED_MAX = 50
FACT_MAX_CHARACTERS = 1_000
FACTS_MAX_CHARACTERS = 8_000
OBSERVATIONS_MAX_CHARACTERS = 8_000
RELATIONS_MAX_CHARACTERS = 8_000
ALIASES_MAX_CHARACTERS = 2_000
FORGOTTEN_MAX_CHARACTERS = 1_000
NOTE_MAX_CHARACTERS = 500

OUTCOME = (
    "found: the memories probably answer the query. weak: they may not answer it; say that you are not sure, "
    "and do not say that nothing is known. refused: nothing was close enough to this query; do not guess."
)
CONFIDENCE = "The probability that the answer is among these, 0 to 1."
TRY_OTHER_WORDS = "Try other words or fewer filters before you say that nothing is known."


class ResultPart(BaseModel):
    """A part of a result."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    def size(self) -> int:
        """Its size in a result, in characters."""
        return len(self.model_dump_json(by_alias=True))


class RetainResult(ToolResult):
    """Whether the memory was stored, and its id."""

    memory_id: str = Field(description="The id of the memory with this content.")
    outcome: Literal["stored", "known already", "replaced"]
    replaced: str | None = Field(default=None, description="The id of the memory that is no longer recalled.")

    def texts(self) -> list[str]:
        """One line."""
        instead = f" instead of {self.replaced}" if self.replaced else ""
        verb = "Known already" if self.outcome == "known already" else "Stored"
        return [f"{verb}{instead}: memory {self.memory_id}."]


class FoundMemory(ResultPart):
    """A memory that was found."""

    memory_id: str
    content: str
    when: str = Field(description="When it happened or, if that is not known, was recorded; ISO 8601.")
    who: str | None = Field(description="Who said it, if known.")
    document: str | None = Field(description="The document and section that it is from, if it is from one.")
    score: float = Field(
        description="How well it matches the query, from 0 to 1, compared with the others here."
    )
    category: str
    tags: list[str]
    conversation: str | None
    shared_by: str | None = Field(description="The owner who shares it, if it belongs to another owner.")

    def line(self) -> str:
        """One entry of text; its own lines are indented, so that content cannot look like another entry."""
        origin = self.who or self.document
        said = f"{origin}: {self.content}" if origin else self.content
        return (
            f"[{_labelled(self.when[:10], self.shared_by)}] {indented(said)} "
            f"(id {self.memory_id}, score {self.score:.2f})"
        )


class RecallResult(ToolResult):
    """Memories, best first, which may be weak, or a refusal."""

    outcome: Outcome = Field(description=OUTCOME)
    refused: bool = Field(description="Whether the outcome is refused.")
    reason: str | None = Field(description="Why it was refused.")
    confidence: float = Field(description=CONFIDENCE)
    memories: list[FoundMemory]
    left_out_count: int = Field(description="Further memories that did not fit into the result.")
    notes: list[str] = Field(description="Warnings, such as a search method that was not available.")

    def texts(self) -> list[str]:
        """A line per memory, after a warning if they are weak, or the refusal."""
        lines = _outcome_lines(self.outcome, self.reason, self.confidence)
        lines += [f"- {memory.line()}" for memory in self.memories]
        if self.left_out_count:
            lines.append(f"{self.left_out_count} more did not fit: use a narrower query.")
        return ["\n".join(lines + [f"Note: {note}" for note in self.notes])]


def _outcome_lines(outcome: Outcome, reason: str | None, confidence: float) -> list[str]:
    """What stands before the memories: nothing if they probably answer the query."""
    match outcome:
        case "found":
            return []
        case "weak":
            return [weakness(confidence)]
        case "refused":
            return [f"Nothing found. {reason} {TRY_OTHER_WORDS}"]
        case _:
            assert_never(outcome)


def recalled_hits(found: Recalled, owner: str | None) -> RecallResult:
    """The result of a recall, as much of it as fits."""
    shown = fitting([_found(hit, owner) for hit in found], FoundMemory.size)
    return RecallResult(
        outcome=found.outcome,
        refused=found.refused,
        reason=found.reason,
        confidence=round(found.confidence, 3),
        memories=shown,
        left_out_count=len(found) - len(shown),
        notes=[truncated(note, NOTE_MAX_CHARACTERS) for note in found.notes],
    )


def _found(hit: Hit, owner: str | None) -> FoundMemory:
    memory = hit.memory
    return FoundMemory(
        memory_id=str(memory.memory_id),
        content=memory.content,
        when=time_of(memory).isoformat(),
        who=memory.name or memory.role,
        document=passage_of(memory),
        score=round(hit.score, 3),
        category=memory.category,
        tags=list(memory.tags),
        conversation=memory.conversation,
        shared_by=memory.owner if memory.owner != owner else None,
    )


def _labelled(head: str, shared_by: str | None) -> str:
    """What stands in the brackets of an entry: its date or number, and who shares it, if somebody does."""
    return head if shared_by is None else f"{head}, {sharing_label(shared_by, None)}"


def time_of(memory: MemoryRecord) -> datetime:
    """When it happened or, if that is not known, since when it is valid or stored."""
    return memory.at or memory.valid_from or memory.created_at


class Passage(ResultPart):
    """A passage to cite."""

    citation: int = Field(description="The number to cite it by.")
    memory_id: str
    text: str
    when: str
    who: str | None
    document: str | None = Field(description="The document and section that it is from, if it is from one.")
    shared_by: str | None = Field(description="The owner who shares it, if it belongs to another owner.")

    def line(self) -> str:
        """One entry of text; its own lines are indented, so that content cannot look like another entry."""
        origin = self.who or self.document
        said = f"{origin}: {self.text}" if origin else self.text
        number = _labelled(str(self.citation), self.shared_by)
        return f"[{number}] {self.when[:10]} {indented(said)} (memory {self.memory_id})"


class ArchiveResult(ToolResult):
    """Passages to answer from, which may be weak, or a refusal."""

    outcome: Outcome = Field(description=OUTCOME)
    refused: bool = Field(description="Whether the outcome is refused: do not answer from other sources.")
    reason: str | None = Field(description="Why it was refused.")
    confidence: float = Field(description=CONFIDENCE)
    passages: list[Passage]

    def texts(self) -> list[str]:
        """The numbered passages, after a warning if they are weak, or the refusal."""
        head = _outcome_lines(self.outcome, self.reason, self.confidence)
        if not self.refused:
            head.append(
                f"Answer from these passages and cite them by number (confidence {self.confidence:.2f}):"
            )
        return ["\n".join([*head, *(passage.line() for passage in self.passages)])]


def passages(found: Recalled, owner: str | None) -> ArchiveResult:
    """The hits as numbered passages, as many as fit."""
    numbered = [
        Passage(
            citation=number,
            memory_id=str(hit.memory.memory_id),
            text=hit.memory.content,
            when=time_of(hit.memory).isoformat(),
            who=hit.memory.name or hit.memory.role,
            document=passage_of(hit.memory),
            shared_by=hit.memory.owner if hit.memory.owner != owner else None,
        )
        for number, hit in enumerate(found, 1)
    ]
    return ArchiveResult(
        outcome=found.outcome,
        refused=found.refused,
        reason=found.reason,
        confidence=round(found.confidence, 3),
        passages=fitting(numbered, Passage.size),
    )


class ForgetResult(ToolResult):
    """The memory that is no longer recalled."""

    memory_id: str
    content: str

    def texts(self) -> list[str]:
        """Its text."""
        return [f"Forgotten: {truncated(self.content, FORGOTTEN_MAX_CHARACTERS)} (memory {self.memory_id})"]


class Relation(ResultPart):
    """A relation between two entities."""

    from_name: str
    kind: str
    to_name: str


class Mention(ResultPart):
    """A memory that mentions an entity."""

    memory_id: str
    content: str
    when: str


class EntityCard(ResultPart):
    """Everything that is known about one entity."""

    entity_id: str
    category: str
    name: str
    aliases: list[str]
    facts: dict[str, Any] = Field(description="Current facts, by attribute.")
    observations: list[str] = Field(description="Current observations, which have no attribute.")
    relations: list[Relation]
    mentions: list[Mention] = Field(description="The latest memories that mention it.")

    def lines(self) -> list[str]:
        """Lines of text."""
        also = f", also called {', '.join(self.aliases)}" if self.aliases else ""
        facts = [f"- {attribute}: {value}" for attribute, value in self.facts.items()]
        facts += [f"- {observation}" for observation in self.observations]
        relations = [f"- {one.from_name} → {one.kind} → {one.to_name}" for one in self.relations]
        mentions = [f"- [{one.when[:10]}] {one.content} (id {one.memory_id})" for one in self.mentions]
        return [f"{self.name} ({self.category}{also})", *facts, *relations, *mentions]


class EntityResult(ToolResult):
    """Every entity with the name."""

    entities: list[EntityCard]
    left_out_count: int = Field(description="Entities that did not fit: give a category to see them.")

    def texts(self) -> list[str]:
        """One paragraph for each."""
        more = [f"{self.left_out_count} more have this name: give a category."] if self.left_out_count else []
        return ["\n\n".join(["\n".join(card.lines()) for card in self.entities] + more)]


def entity_result(cards: Sequence[EntityCard]) -> EntityResult:
    """As many cards as fit."""
    shown = fitting(cards, EntityCard.size)
    return EntityResult(entities=shown, left_out_count=len(cards) - len(shown))


async def entity_card(memory: AsyncMemory, entity: Entity) -> EntityCard:
    """Collect the facts, relations and mentions of an entity."""
    graph = await memory.entities.graph(entity, depth=1, limit=RELATED_MAX)
    names = {node.entity_id: node.name for node in graph.nodes}
    return EntityCard(
        entity_id=str(entity.entity_id),
        category=entity.category,
        name=entity.name,
        aliases=fitting(entity.aliases, json_size, ALIASES_MAX_CHARACTERS),
        facts=_known_facts(entity),
        observations=fitting(stated_observations(entity), json_size, OBSERVATIONS_MAX_CHARACTERS),
        relations=fitting(
            [
                Relation(from_name=names[one.from_id], kind=one.kind, to_name=names[one.to_id])
                for one in graph.relations
                if entity.entity_id in (one.from_id, one.to_id)
            ],
            Relation.size,
            RELATIONS_MAX_CHARACTERS,
        ),
        mentions=await _mentions(memory, entity),
    )


def _known_facts(entity: Entity) -> dict[str, Any]:
    """Current facts; a retracted one has the value None. Long values and long lists are truncated."""
    held = [
        (name, _short_value(value))
        for name, value in entity.facts.items()
        if value is not None and not name.startswith(OBSERVATION)
    ]
    return dict(fitting(held, json_size, FACTS_MAX_CHARACTERS))


def _short_value(value: Any) -> Any:
    fits = json_size(value) <= FACT_MAX_CHARACTERS
    return value if fits else truncated_as_json(str(value), FACT_MAX_CHARACTERS)


async def _mentions(memory: AsyncMemory, entity: Entity) -> list[Mention]:
    found: list[Mention] = []
    for memory_id in await memory.entities.mentions(entity, limit=MENTIONS_READ):
        if len(found) == MENTIONS_SHOWN:
            break
        try:
            record = await readable_memory(memory, str(memory_id))
        except NotFoundError:
            continue
        if record.status == "active":
            content = truncated_as_json(record.content, MENTION_MAX_CHARACTERS)
            when = time_of(record).isoformat()
            found.append(Mention(memory_id=str(memory_id), content=content, when=when))
    return found


async def readable_memory(memory: AsyncMemory, memory_id: str) -> MemoryRecord:
    """A memory by its id; NotFoundError if it was forgotten, even if the model still knows its id."""
    record = await memory.memories.get(memory_id)
    if record.deleted_at is not None:
        raise NotFoundError(f"The memory {memory_id} was forgotten.")
    return record
