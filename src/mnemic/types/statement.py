"""Statements: what extraction understood from turns, notes and documents (`state.statements`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, get_args
from uuid import UUID

from mnemic.types.memory import Status

Certainty = Literal["explicit", "implied", "inferred", "uncertain"]
Tense = Literal["current", "past", "future"]
ContradictionPolicy = Literal["prefer_new", "prefer_old", "flag_review"]

CERTAINTIES: tuple[str, ...] = get_args(Certainty)
TENSES: tuple[str, ...] = get_args(Tense)
CONTRADICTION_POLICIES: tuple[str, ...] = get_args(ContradictionPolicy)

CONFIDENCES: Mapping[str, float] = MappingProxyType(
    {"explicit": 0.95, "implied": 0.85, "inferred": 0.70, "uncertain": 0.50}
)
"""The confidence of a statement's memory, by its certainty."""

SUMMARY_TAG = "summary"
"""The tag of summaries of conversations, which consolidation makes."""

SUBJECT_MAX_CHARACTERS = 256
ATTRIBUTE_MAX_CHARACTERS = 256
VALUE_MAX_CHARACTERS = 2_048
STATEMENT_TEXT_MAX_CHARACTERS = 2_048
QUOTATION_MAX_CHARACTERS = 8_192


@dataclass(frozen=True, slots=True)
class Statement:
    """What was understood from one or more sources; `statement` is the content of its memory.

    `status` is that of the memory: `active` ones are current, `pending_review` ones wait for a decision.
    """

    memory_id: UUID
    owner: str
    channel: str
    statement: str
    subject: str
    attribute: str
    value: str
    is_single_valued: bool
    is_negated: bool
    certainty: Certainty
    tense: Tense
    extractor: str
    status: Status
    source_count: int
    at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None


@dataclass(frozen=True, slots=True)
class RejectedStatement:
    """A statement that an extractor proposed for a source and that was not accepted."""

    rejected_id: UUID
    source_id: UUID
    extractor: str
    reason: str
    statement: dict[str, Any]
    rejected_at: datetime


@dataclass(frozen=True, slots=True)
class AttributeKind:
    """An attribute that the tenant has declared, and whether it has one value at a time."""

    attribute: str
    is_single_valued: bool


@dataclass(frozen=True, slots=True)
class ContradictionRule:
    """The policy for contradictions of a channel; None is the tenant."""

    channel: str | None
    policy: ContradictionPolicy
