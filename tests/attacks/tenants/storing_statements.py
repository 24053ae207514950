"""Attacks on the functions that store and compare memories; see `attacks`."""

from collections.abc import Callable

from mnemic.db.vectors import table_name_of
from tests.attacks.tenants.target import FIRST_MODEL, Attacker

ROW = (
    '[{"memory_id": "01890000-0000-7000-8000-000000000000", "content": "forged", "category": "factual",'
    ' "source": "imported", "provenance": "witnessed", "confidence": 1, "anchored": false}]'
)
STORE = (
    "SELECT mnemic.store_memories('{b}', 'somebody', 'here', 'forged',"
    f" '{ROW}', NULL, 0, '{{NULL}}', NULL, false)"
)
RETAIN_IN_ONE_STATEMENT = (
    "SELECT mnemic.retain_in_one_statement('{b}', 'somebody', 'here', 'forged',"
    f" '{ROW}', NULL, '{{NULL}}', NULL, 1, '{FIRST_MODEL}', 3, '{table_name_of(FIRST_MODEL)}',"
    " NULL, 0, NULL, NULL, false, NULL)"
)
# Comparing removes memories from the backlog, so that B would never have them compared.
COMPARE = (
    "SELECT mnemic.find_near_duplicates('{b}', 'somebody',"
    " ARRAY(SELECT memory_id FROM queue.deduplication_backlog WHERE tenant_id = '{b}'), 0, 100, 100)"
)
PENDING = "SELECT memory_id FROM mnemic.pending_neighbours('{b}', 'somebody', 100, 100, 100, 100, 100)"

HARMLESS: dict[str, tuple[str, ...]] = {
    "settings are trusted": (
        f"SET mnemic.tenant = '{{b}}'; {STORE}",
        f"SET mnemic.tenant = '{{b}}'; {RETAIN_IN_ONE_STATEMENT}",
        f"SET mnemic.tenant = '{{b}}'; SET mnemic.tenant_proof = '{'0' * 64}'; {RETAIN_IN_ONE_STATEMENT}",
        f"SET mnemic.tenant = '{{b}}'; {COMPARE}",
    ),
}


def list_pending_memories(attacker: Attacker) -> None:
    """The ids of memories that wait to be compared say when B stored something."""
    attacker.must_find_nothing(f"SET mnemic.tenant = '{{b}}'; {PENDING}")


SPECIAL: dict[str, tuple[Callable[[Attacker], None], ...]] = {
    "settings are trusted": (list_pending_memories,)
}
