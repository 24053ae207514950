"""Queries of the curator and the change log look memories up by their ids, also without statistics."""

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from mnemic.db.tenancy import Tenant
from mnemic.sql import query
from tests.conftest import AppConnection, ConnectAs

MANY = """
INSERT INTO state.memories (tenant_id, owner, channel, process, content, category, source)
SELECT %s, 'alice', '_global', 'test', 'memory ' || number, 'factual', 'imported'
FROM generate_series(1, 3000) AS number
"""
IDS = [uuid4() for _ in range(3)]
PARAMETERS: dict[str, dict[str, Any]] = {
    "curation.candidates": {"after_id": None, "others_most": 5, "limit": 500},
    "curation.unchanged": {"ids": IDS, "versions": [1, 1, 1], "kinds": ["merge"] * 3},
    "changesets.memories": {"ids": IDS},
    "changesets.lock_memories": {"ids": IDS},
    "changesets.versions": {"ids": IDS, "versions": [1, 1, 1]},
    "changesets.later_changes": {"change_ids": IDS, "shared": ["status"]},
    "changesets.same_text": {"ids": IDS, "other_ids": IDS},
    "changesets.twins": {
        "ids": IDS,
        "categories": ["factual"] * 3,
        "channels": ["_global"] * 3,
        "retired_ids": [],
    },
    "review.waiting": {"read_most": 2_000, "most": 500},
    "review.near_duplicates": {
        "before_id": None,
        "before_other_id": None,
        "read_most": 2_000,
        "limit": 20,
    },
    "review.contradictions": {
        "before_id": None,
        "before_other_id": None,
        "read_most": 2_000,
        "limit": 20,
    },
    "review.quarantined": {"before_id": None, "limit": 20},
    "cleanup.qualifying": {
        "ids": IDS,
        "kind": "stale",
        "categories": ["factual"],
        "unused_days": 90,
        "salience_below": 0.4,
    },
    "why.sources": {"ids": IDS, "limit": 50},
    "why.replaced": {"memory_id": IDS[0], "limit": 20},
    "why.replaced_by": {"memory_id": IDS[0]},
    "why.contradicted_by": {"memory_id": IDS[0], "limit": 20},
    "why.derived": {"memory_id": IDS[0], "limit": 20},
}


@pytest.mark.parametrize("is_analysed", [False, True])
def test_no_query_reads_all_memories_of_an_owner(
    connect_as: ConnectAs,
    tenant_a: Tenant,
    admin: AppConnection,
    subtests: pytest.Subtests,
    is_analysed: bool,
) -> None:
    admin.execute(MANY, [tenant_a.id])
    if is_analysed:
        admin.execute("ANALYZE state.memories")
    connection: psycopg.Connection[Any] = connect_as(tenant_a)
    for name, given in PARAMETERS.items():
        with subtests.test(query=name):
            parameters = {"tenant_id": tenant_a.id, "owner": "alice", **given}
            plan = connection.execute(f"EXPLAIN {query(name)}", parameters).fetchall()
            text = "\n".join(line for (line,) in plan)
            assert "memories_happened" not in text
            assert "memories_browse" not in text
            assert "Seq Scan on memories" not in text


INDEXES: dict[str, tuple[dict[str, Any], set[str]]] = {
    "review.waiting": (
        PARAMETERS["review.waiting"],
        {
            "near_duplicates_waiting",
            "outdated_memories_waiting",
            "memories_pending_review",
            "changesets_staged",
        },
    ),
    "review.near_duplicates": (PARAMETERS["review.near_duplicates"], {"near_duplicates_waiting"}),
    "review.contradictions": (PARAMETERS["review.contradictions"], {"outdated_memories_waiting"}),
    "review.quarantined": (PARAMETERS["review.quarantined"], {"memories_pending_review"}),
    "cleanup.read_category": (
        {"section": "factual", "after_id": None, "read_most": 2_000},
        {"memories_browse"},
    ),
    "cleanup.read_evidenced": ({"after_id": None, "read_most": 2_000}, {"memories_evidenced"}),
    "cleanup.read_replaced": (
        {"after_id": None, "read_most": 2_000},
        {"memories_forgotten", "memories_superseded_by", "memories_merged_into"},
    ),
    "cleanup.read_expired": ({"after_id": None, "read_most": 2_000}, {"memories_expiring"}),
}


@pytest.mark.parametrize("is_analysed", [False, True])
def test_lists_of_review_and_cleanup_use_their_indexes(
    connect_as: ConnectAs,
    tenant_a: Tenant,
    admin: AppConnection,
    subtests: pytest.Subtests,
    is_analysed: bool,
) -> None:
    admin.execute(MANY, [tenant_a.id])
    if is_analysed:
        admin.execute("ANALYZE state.memories")
    connection: psycopg.Connection[Any] = connect_as(tenant_a)
    for name, (given, indexes) in INDEXES.items():
        with subtests.test(query=name):
            parameters = {"tenant_id": tenant_a.id, "owner": "alice", **given}
            plan = connection.execute(f"EXPLAIN {query(name)}", parameters).fetchall()
            text = "\n".join(line for (line,) in plan)
            assert {index for index in indexes if f" {index} " in text} == indexes, text
