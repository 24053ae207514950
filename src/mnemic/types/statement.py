"""Statements: what extraction understood from turns, notes and documents (`state.statements`)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

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

SUBJECT_MAX_CHARACTERS = 256
ATTRIBUTE_MAX_CHARACTERS = 256
VALUE_MAX_CHARACTERS = 2_048
STATEMENT_TEXT_MAX_CHARACTERS = 2_048
QUOTATION_MAX_CHARACTERS = 8_192
