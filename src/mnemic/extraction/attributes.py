"""Attributes of statements: their names, which have one value at a time, and which exclude each other.

An attribute that is not listed has many values, so that an unknown one never supersedes anything. A tenant
declares further ones (`memory.statements.set_attribute`); a declaration outranks the built-in kind.
"""

import re
from collections.abc import Mapping

from mnemic.text_analysis.attribute_names import FAVOURITE_PREFIX, has_one_value
from mnemic.types.memory import Category
from mnemic.types.statement import ATTRIBUTE_MAX_CHARACTERS

OPPOSITES: Mapping[str, str] = {"likes": "dislikes", "dislikes": "likes"}
"""A value of one attribute ends the same value of the other."""

_CATEGORIES: Mapping[str, Category] = {
    "likes": "preference",
    "dislikes": "preference",
    "prefers": "preference",
    "plans": "prospective",
    "habit": "behavioral",
}
_NOT_IN_NAMES = re.compile(r"[^\w]{1,64}")


def attribute_name(text: str) -> str:
    """An attribute as it is stored: small letters, words joined by underscores."""
    joined = _NOT_IN_NAMES.sub("_", text.casefold().strip()[:ATTRIBUTE_MAX_CHARACTERS])
    return joined.strip("_") or text


def is_single_valued(attribute: str, declared: Mapping[str, bool]) -> bool:
    """Whether a subject has one value of the attribute at a time."""
    return declared[attribute] if attribute in declared else has_one_value(attribute)


def category_of(attribute: str, proposed: Category) -> Category:
    """The category of a statement's memory; a statement is never a turn."""
    if attribute.startswith(FAVOURITE_PREFIX):
        return "preference"
    category = _CATEGORIES.get(attribute, proposed)
    return "factual" if category in ("episodic", "reference") else category
