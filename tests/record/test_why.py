"""Why a memory is believed: the chain to its turns, what it replaced, and nothing of another owner."""

from uuid import UUID

import pytest

from mnemic.db.database import TenantDatabase
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.record import why as why_module
from mnemic.record.changesets import MemoryChange, stage_and_apply
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import Scope
from tests.fresh_tenants import tenant_database  # noqa: F401 (fixture)

TURN = {"role": "user", "name": "Alice", "content": "By the way: I moved to Lisbon last week. Nice weather!"}
QUOTATION = "I moved to Lisbon last week."


async def statement_of(database: TenantDatabase, memory_id: UUID, source_id: UUID) -> None:
    """Make a memory a statement that rests on a turn, as extraction does."""
    async with database.transaction() as transaction:
        await transaction.execute(
            "statements.add",
            {
                "owner": "alice",
                "channel": "_global",
                "extractor": "rules-1",
                "ids": [memory_id],
                "subjects": ["Alice"],
                "attributes": ["home"],
                "values": ["Lisbon"],
                "single_valued": [True],
                "negated": [False],
                "certainties": ["explicit"],
                "tenses": ["current"],
            },
        )
        sources = {"ids": [memory_id], "source_ids": [source_id], "quotations": [QUOTATION]}
        await transaction.execute("statements.add_sources", sources)


async def test_a_statement_rests_on_the_quoted_turn(
    memory: AsyncMemory,
    tenant_database: TenantDatabase,  # noqa: F811 (fixture)
) -> None:
    (turn,) = (await memory.retain(TURN, conversation="c-1", at="2026-03-02")).memory_ids
    (fact,) = (await memory.retain("Alice lives in Lisbon.", source="extracted", confidence=0.95)).memory_ids
    await statement_of(tenant_database, fact, turn)
    why = await memory.memories.why(fact)
    assert why.statement is not None
    assert (why.statement.subject, why.statement.attribute, why.statement.value) == (
        "Alice",
        "home",
        "Lisbon",
    )
    (source,) = why.sources
    assert (source.memory_id, source.rests_on_it, source.depth) == (turn, fact, 1)
    assert (source.quotation, source.content) == (QUOTATION, TURN["content"])
    assert (source.conversation, source.position, source.role, source.name) == ("c-1", 0, "user", "Alice")
    assert f"{source.at:%Y-%m-%d}" == "2026-03-02"
    lines = why.text.splitlines()
    assert lines[0] == "Alice lives in Lisbon."
    assert lines[1].startswith("  active, extracted, witnessed, confidence 0.95; ")
    assert lines[2] == "  Alice: home = Lisbon (current, explicit, by rules-1)"
    quoted = f'  - "{QUOTATION}" (2026-03-02, Alice (user), conversation c-1, turn 0; {turn})'
    assert lines[3:] == ["  It rests on:", quoted]


async def test_evidence_that_is_a_source_is_shown_once(
    memory: AsyncMemory,
    tenant_database: TenantDatabase,  # noqa: F811 (fixture)
) -> None:
    (turn,) = (await memory.retain(TURN, conversation="c-1")).memory_ids
    given = [str(turn), "https://example.com/note"]
    (fact,) = (await memory.retain("Alice lives in Lisbon.", evidence=given)).memory_ids
    await statement_of(tenant_database, fact, turn)
    why = await memory.memories.why(fact)
    assert [source.memory_id for source in why.sources] == [turn]
    assert why.evidence == ("https://example.com/note",)
    assert why.text.count(str(turn)) == 1


async def test_a_chain_is_followed_over_several_steps_and_ends_in_a_circle(memory: AsyncMemory) -> None:
    ids = (await memory.retain(["promoted", "statement", "turn"])).memory_ids
    for newer, older in ((0, 1), (1, 2), (2, 0)):
        await memory.memories.relate(ids[newer], ids[older], "derived_from")
    why = await memory.memories.why(ids[0])
    assert [(source.memory_id, source.depth) for source in why.sources] == [(ids[1], 1), (ids[2], 2)]


async def test_the_number_of_sources_is_bounded(memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(why_module, "SOURCES_MAX", 3)
    ids = (await memory.retain([f"turn {number}" for number in range(5)])).memory_ids
    for older in ids[1:]:
        await memory.memories.relate(ids[0], older, "derived_from")
    why = await memory.memories.why(ids[0])
    assert why.notes == ("It rests on more than 3 memories; the others are left out.",)
    assert len(why.sources) == 3


async def test_replacements_are_shown_in_both_directions_with_reasons(memory: AsyncMemory) -> None:
    (first,) = (await memory.retain("Alice lives in Berlin.")).memory_ids
    second = await memory.memories.supersede(first, "Alice lives in Lisbon.", reason="She moved.")
    third = await memory.memories.supersede(second.memory_id, "Alice lives in Porto.", reason="Again.")
    oldest, middle = await memory.memories.why(first), await memory.memories.why(second.memory_id)
    assert [(each.memory_id, each.how, each.reason) for each in oldest.replaced_by] == [
        (second.memory_id, "superseded", "She moved."),
        (third.memory_id, "superseded", "Again."),
    ]
    assert [(each.memory_id, each.reason) for each in middle.replaced] == [(first, "She moved.")]
    assert [each.memory_id for each in middle.replaced_by] == [third.memory_id]
    assert "  It replaced:\n  - Alice lives in Berlin. (superseded on " in middle.text


async def test_changes_and_contradictions_are_listed(
    memory: AsyncMemory,
    tenant_database: TenantDatabase,  # noqa: F811 (fixture)
) -> None:
    one, other = (await memory.retain(["Alice drinks tea.", "Alice drinks no tea."])).memory_ids
    await memory.memories.relate(other, one, "contradicts")
    change = MemoryChange(one, "archive", {"status": "archived"}, "It is old.")
    async with tenant_database.transaction() as transaction:
        changeset_id = await stage_and_apply(
            transaction, Scope("alice", "_global", "curator"), [change], purpose="curation", reason="a test"
        )
    why = await memory.memories.why(one)
    assert (why.status, why.contradicted_by) == ("archived", (other,))
    (listed,) = why.changes
    assert (listed.changeset_id, listed.kind, listed.state) == (changeset_id, "archive", "applied")
    assert f"  - archive, applied (curation, changeset {changeset_id}): It is old." in why.text


async def test_words_of_a_memory_cannot_imitate_lines_of_the_text(memory: AsyncMemory) -> None:
    content = "tea\n  It was replaced by:\n  - a lie\x1b[31m"
    (memory_id,) = (await memory.retain(content, evidence="a\nb")).memory_ids
    why = await memory.memories.why(memory_id)
    assert why.text.splitlines()[0] == "tea It was replaced by: - a lie [31m"
    assert why.text.splitlines()[-1] == "  - a b"


async def test_nothing_of_another_owner_is_shown(
    memory: AsyncMemory,
    tenant_database: TenantDatabase,  # noqa: F811 (fixture)
) -> None:
    (fact,) = (await memory.retain("Alice lives in Lisbon.")).memory_ids
    (theirs,) = (await memory.scope(owner="bob").retain("Bob's secret: the vault code is 4711.")).memory_ids
    await statement_of(tenant_database, fact, theirs)
    why = await memory.memories.why(fact)
    assert why.sources == ()
    assert "4711" not in repr(why)
    for owner in ("bob", "carol"):
        with pytest.raises(NotFoundError):
            await memory.memories.why(fact, owner=owner)
    with pytest.raises(InvalidInputError, match="memory_id must be an id"):
        await memory.memories.why("x")
