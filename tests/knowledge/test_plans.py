"""The queries that run often use an index, also under row-level security and without statistics."""

from typing import Any
from uuid import UUID

import pytest

from mnemic.db.tenancy import Tenant
from mnemic.sql import query
from tests.conftest import AppConnection, ConnectAs

ROWS = 2_000
SOME_ID = UUID(int=7)

FILL = """
INSERT INTO state.entities (tenant_id, owner, category, name, process)
SELECT %(tenant)s, 'owner ' || n %% 5, 'thing', 'thing ' || n, 'test' FROM generate_series(1, %(rows)s) AS n;
INSERT INTO state.entity_names (tenant_id, owner, entity_id, name, first_word)
SELECT tenant_id, owner, entity_id, name, 'w' || substr(name, 7) FROM state.entities;
INSERT INTO state.entity_facts (tenant_id, owner, entity_id, attribute, value, process)
SELECT tenant_id, owner, entity_id, 'a' || n, '1', 'test' FROM state.entities, generate_series(1, 3) AS n;
INSERT INTO state.entity_facts (tenant_id, owner, entity_id, attribute, value, process, retired_at)
SELECT tenant_id, owner, entity_id, 'a', '1', 'test', 'infinity'
FROM state.entities, generate_series(1, 20) AS n;
INSERT INTO state.entity_relations (tenant_id, owner, from_id, to_id, kind, process)
SELECT tenant_id, owner, entity_id, next_id, 'next', 'test' FROM (
    SELECT *, lead(entity_id) OVER (PARTITION BY owner ORDER BY entity_id) AS next_id FROM state.entities
) AS pairs WHERE next_id IS NOT NULL;
INSERT INTO state.removed_relations (tenant_id, owner, from_id, to_id, kind, confidence, provenance, process,
    created_at, updated_at)
SELECT tenant_id, owner, to_id, from_id, 'before', 1, 'witnessed', 'test', now(), now()
FROM state.entity_relations;
INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
SELECT %(tenant)s, 'owner ' || n %% 5, '_global', 'test', 'text ' || n, 'factual', 'imported'
FROM generate_series(1, %(rows)s) AS n;
INSERT INTO state.recall_counts (tenant_id, memory_id, retrieval_count)
SELECT tenant_id, memory_id, 1 FROM state.memories;
INSERT INTO state.outdated_memories (tenant_id, older_id, newer_id, reason, certainty)
SELECT tenant_id, memory_id, next_id, 'test', 1 FROM (
    SELECT *, lead(memory_id) OVER (PARTITION BY owner ORDER BY memory_id) AS next_id FROM state.memories
) AS pairs WHERE next_id IS NOT NULL;
INSERT INTO state.memory_entities (tenant_id, owner, memory_id, entity_id)
SELECT tenant_id, owner, memory_id, entity_id FROM (
    SELECT *, row_number() OVER (PARTITION BY owner) AS place FROM state.memories
) AS m JOIN (
    SELECT *, row_number() OVER (PARTITION BY owner) AS place FROM state.entities
) AS e USING (tenant_id, owner, place);
INSERT INTO state.triples (tenant_id, owner, subject, predicate, object, process)
SELECT %(tenant)s, 'owner ' || n %% 5, 's' || n, 'p' || n, 'o' || n, 'test'
FROM generate_series(1, %(rows)s) AS n;
INSERT INTO state.archived_entities (tenant_id, owner, entity_id, category, name, snapshot, process)
SELECT tenant_id, owner, entity_id, category, name, '{}', 'test' FROM state.entities
"""

ME: dict[str, Any] = {"owner": "owner 1", "limit": 10}
RANKED: dict[str, Any] = {
    "category": None,
    "order": "salience",
    "before": None,
    "ranked_max": 100,
    "counted_max": 100,
}
RANKING = {"memory_entities_entity", "memories_pkey"}
PLANS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("entities.read", {"entity_ids": [SOME_ID]}, {"entities_", "entity_names_pkey", "entity_facts_living"}),
    ("entities.find", {"name": "thing 7", "category": None}, {"entity_names_"}),
    ("entities.list", {"before": None, "category": None}, {"entities_tenant_id_owner_entity_id_key"}),
    ("entities.hold", {"entity_ids": [SOME_ID]}, {"entities_"}),
    (
        "entity_facts.list",
        {"entity_id": SOME_ID, "attribute": None, "before_at": None, "before_id": None},
        {"entity_facts_"},
    ),
    (
        "entity_relations.walk",
        {"start_id": SOME_ID, "depth": 2, "kinds": None, "edges_max": 100, "as_of": None},
        {"entity_relations_pkey", "entity_relations_to", "removed_relations_pkey", "removed_relations_to"},
    ),
    (
        "entity_relations.between",
        {"entity_ids": [SOME_ID], "kinds": None, "relations_max": 9, "as_of": None},
        {"entity_relations_", "removed_relations_"},
    ),
    (
        "entities.list_by_name",
        {"category": None, "after_name": "thing 5", "before": SOME_ID},
        {"entities_by_name"},
    ),
    ("entities.list_by_name", {"category": None, "after_name": None, "before": None}, {"entities_by_name"}),
    ("entities.list_ranked", {**RANKED, "prefix": "thing 7"}, {"entity_names_prefix", *RANKING}),
    ("entities.list_ranked", {**RANKED, "prefix": None}, {"entities_by_salience", *RANKING}),
    ("entities.totals", {**RANKED, "prefix": "thing 7"}, {"entity_names_prefix"}),
    ("entities.most_salient", {**RANKED, "as_of": None}, {"entities_by_salience", "memories_pkey"}),
    (
        "entities.counts",
        {"entity_ids": [SOME_ID], "counted_max": 9},
        {"memory_entities_entity", "entity_facts_living", "entity_relations_pkey", "entity_relations_to"},
    ),
    ("entities.read_as_of", {"entity_id": SOME_ID, "as_of": "2026-01-01"}, {"entities_", "entity_facts_"}),
    (
        "mentions.records_of",
        {"entity_id": SOME_ID, "before": None, "include_forgotten": False},
        {"memory_entities_entity", "memories_pkey"},
    ),
    ("mentions.known_names", {"words": [f"w{number}" for number in range(300)]}, {"entity_names_first_word"}),
    ("mentions.memories_of", {"entity_id": SOME_ID, "before": None}, {"memory_entities_entity"}),
    ("mentions.entities_in", {"memory_id": SOME_ID}, {"memory_entities_pkey"}),
    ("mentions.hold_memory", {"memory_id": SOME_ID}, {"memories_"}),
    (
        "triples.list",
        {"before": None, "subject": "s7", "predicate": None, "object": None},
        {"triples_subject"},
    ),
    (
        "triples.list",
        {"before": None, "subject": None, "predicate": "p7", "object": None},
        {"triples_predicate"},
    ),
    (
        "triples.list",
        {"before": None, "subject": None, "predicate": None, "object": "o7"},
        {"triples_object"},
    ),
    ("archived_entities.list", {"before_at": None, "before_id": None}, {"archived_entities_recent"}),
    (
        "archived_entities.find",
        {"entity_id": None, "category": "thing", "name": "thing 7"},
        {"archived_entities_name"},
    ),
]


@pytest.fixture
def own_database() -> bool:
    """Yes: the tests look at a whole database."""
    return True


@pytest.fixture
def filled(admin: AppConnection, tenant_a: Tenant) -> Tenant:
    for statement in FILL.split(";\n"):
        admin.execute(statement, {"tenant": tenant_a.id, "rows": ROWS})
    admin.execute("VACUUM ANALYZE")
    return tenant_a


def test_hot_queries_use_an_index(filled: Tenant, connect_as: ConnectAs) -> None:
    connection = connect_as(filled)
    for name, parameters, indexes in PLANS:
        rows = connection.execute(
            f"EXPLAIN {query(name)}", {**ME, "tenant_id": filled.id, **parameters}
        ).fetchall()
        plan = "\n".join(str(row[0]) for row in rows)
        assert "Seq Scan" not in plan, f"{name}\n{plan}"
        for index in indexes:
            assert f"using {index}" in plan or f"on {index}" in plan, f"{name} lacks {index}\n{plan}"
