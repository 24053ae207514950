"""An import is one audited act: with counts, and with the owner unless the source names several."""

from pathlib import Path

import pytest

from mnemic.adapters.importing import import_from
from mnemic.errors import InvalidInputError
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.traces import AuditRecord
from tests.fresh_tenants import OpenMemory
from tests.importers.conftest import Write

BOB = {"id": "1", "memory": "Bob plays the xylophone.", "user_id": "bob"}
CAROL = {"id": "2", "memory": "Carol plays the xylophone.", "user_id": "carol"}


async def pair(memory: AsyncMemory) -> tuple[AuditRecord, AuditRecord]:
    """The intent and the outcome of the only act, which hold nothing of what was imported."""
    found = await memory.audit.list()
    assert "xylophone" not in str(found)
    outcome, intent = found
    assert (intent.action, intent.phase, outcome.intent_id) == ("import_from", "intent", intent.audit_id)
    return intent, outcome


async def test_an_import_for_one_owner_is_audited_for_that_owner(memory: AsyncMemory, write: Write) -> None:
    path = write("answers.json", {"results": [BOB, CAROL, {"id": "3", "memory": ""}]})
    await import_from(memory, "mem0", path)
    intent, outcome = await pair(memory)
    assert (intent.owner, intent.target, intent.detail) == ("alice", str(path), {"source": "mem0"})
    assert (outcome.phase, outcome.detail) == (
        "succeeded",
        {"batch_count": 3, "imported_count": 2, "known_count": 0, "skipped_count": 1, "owner_count": 1},
    )


async def test_an_import_of_many_owners_names_none_of_them(open_memory: OpenMemory, write: Write) -> None:
    memory = await open_memory(owner=None)
    await import_from(memory, "mem0", write("bob.json", {"results": [BOB, CAROL]}), owner_from_source=True)
    intent, outcome = await pair(memory)
    assert (intent.owner, intent.target) == (None, "mem0")
    assert (outcome.detail["imported_count"], outcome.detail["owner_count"]) == (2, 2)
    assert "bob" not in str((intent, outcome))


async def test_an_import_that_fails_keeps_what_it_counted(memory: AsyncMemory, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('{"results": [{"id": "1", "memory": "xylophone"')
    with pytest.raises(InvalidInputError):
        await import_from(memory, "mem0", tmp_path / "broken.json")
    _, outcome = await pair(memory)
    assert (outcome.phase, outcome.detail["error"], outcome.detail["imported_count"]) == (
        "failed",
        "InvalidInputError",
        0,
    )
    assert "message" not in outcome.detail
