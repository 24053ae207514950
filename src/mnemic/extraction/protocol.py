"""What an extractor reads and what it proposes.

An extractor only proposes. `checking` accepts or rejects each proposal by the same rules for all extractors,
and `storing` writes the accepted ones together with the mark that the extractor has read the source.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from mnemic.types.memory import Category
from mnemic.types.statement import Certainty, Tense


@dataclass(frozen=True, slots=True)
class SourceText:
    """A turn, a note or a chunk of a document, as an extractor reads it.

    `role` and `name` say who spoke; both are None for notes and documents. `at` is when it was said,
    `position` its place in `conversation`. `is_document` marks chunks of documents, whose "I" is not the
    owner.
    """

    memory_id: UUID
    text: str
    role: str | None
    name: str | None
    at: datetime | None
    position: int | None
    is_document: bool = False
    conversation: str | None = None


@dataclass(frozen=True, slots=True)
class KnownStatement:
    """A current statement of the owner that new ones may repeat, contradict or correct."""

    memory_id: UUID
    statement: str
    subject: str
    attribute: str
    value: str
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class ProposedStatement:
    """A statement that an extractor found in one source.

    `quotation` stands verbatim in the source. `statement` is a sentence that can be understood without it.
    `attribute` and `value` are what it says about `subject`; `is_negated` says that this does not hold or
    no longer holds. `valid_from` and `valid_to` are set only if the source says when it is true. `replaces`
    is one of the known statements that a correction replaces. `entities` are names that it mentions besides
    the subject.
    """

    source_id: UUID
    quotation: str
    statement: str
    subject: str
    attribute: str
    value: str
    category: Category = "factual"
    certainty: Certainty = "explicit"
    tense: Tense = "current"
    is_negated: bool = False
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    is_correction: bool = False
    replaces: UUID | None = None
    entities: tuple[str, ...] = ()


class Extractor(Protocol):
    """Finds statements in texts.

    `name` has a version ("rules-1", "llm-3:openai:gpt-5-mini"): a source is read once by each name.
    """

    @property
    def name(self) -> str:
        """The versioned name of the extractor."""
        ...

    async def extract(
        self, sources: Sequence[SourceText], known: Sequence[KnownStatement]
    ) -> Sequence[ProposedStatement]:
        """The statements in the sources. Raises LanguageModelError if a model failed."""
        ...
