"""Link statements to the entities that they are about; names that are new become entities.

Only names in typed places become entities: a subject with a proper name, a relative, an employer, a town.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from mnemic.db.database import Transaction
from mnemic.extraction.protocol import ProposedStatement
from mnemic.knowledge.entities import ensure_entity
from mnemic.knowledge.mentions import link_entities
from mnemic.text_analysis.relations import RELATION_WORDS
from mnemic.types.scope import Scope

PERSON, PLACE, ORGANISATION = "person", "place", "organisation"

_CATEGORIES: Mapping[str, str] = {
    "lives_in": PLACE,
    "born_in": PLACE,
    "home_town": PLACE,
    "works_at": ORGANISATION,
    "studies_at": ORGANISATION,
}


async def link_statement_entities(
    transaction: Transaction, scope: Scope, stored: Sequence[tuple[UUID, ProposedStatement]]
) -> None:
    """Link each memory to the entities of its statement, in a fixed order to avoid deadlocks."""
    owner = scope.require_owner()
    wanted = sorted({pair for _, statement in stored for pair in entities_of(statement)})
    ids = {
        (category, name): await ensure_entity(transaction, scope, category, name) for category, name in wanted
    }
    for memory_id, statement in stored:
        about = [ids[pair] for pair in entities_of(statement)]
        if about:
            await link_entities(transaction, owner, memory_id, about)


def entities_of(statement: ProposedStatement) -> list[tuple[str, str]]:
    """The category and name of each entity that a statement is about."""
    found = []
    if is_proper_name(statement.subject):
        found.append((PERSON, statement.subject))
    if statement.attribute in RELATION_WORDS and is_proper_name(statement.value):
        found.append((PERSON, statement.value))
    if statement.attribute in _CATEGORIES and is_proper_name(statement.value):
        found.append((_CATEGORIES[statement.attribute], statement.value))
    return list(dict.fromkeys(found))


def is_proper_name(text: str) -> bool:
    """Whether every word begins with a capital letter, as in "Ana" and "New York", and none is "The"."""
    words = text.split()
    return (
        0 < len(words) <= 4
        and all(word[0].isupper() for word in words)
        and words[0] not in ("The", "A", "An")
    )
