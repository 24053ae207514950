"""Irregular forms of a word, which a stemmer does not join, are one term."""

from datetime import UTC, datetime

import pytest

from mnemic.db.database import TenantDatabase
from mnemic.recall.candidates.query_terms import QueryTerms, read_query_terms
from mnemic.recall.index_maintenance import refresh_word_statistics
from mnemic.recall.query_analysis import analyse_query
from mnemic.recall.readable_owners import EVERYTHING, ReadableOwner
from mnemic.recall.request import Request
from mnemic.sdk.memory import AsyncMemory
from tests.conftest import AppConnection
from tests.opened import core_of

BOATS = (
    "Ann bought a boat",
    "Ben buys a house",
    "they are buying time",
    "a boat in the harbour",
    "boats, boats",
)


async def terms(memory: AsyncMemory, query: str) -> QueryTerms:
    now = datetime.now(UTC)
    request = Request(
        query=query,
        scope=memory._caller.scoped("alice"),
        filter=EVERYTHING,
        limit=10,
        max_tokens=None,
        as_of=None,
        asked_at=now,
        refuse_below=None,
        techniques=frozenset({"text"}),
        explain=False,
        include=frozenset(),
    )
    analysis = analyse_query(query, now)
    readable = ReadableOwner("alice", EVERYTHING)
    database = core_of(memory).storage.tenant_database
    return await read_query_terms(database, readable, request, analysis, searches=False)


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("Ann bought a boat", "buying"),
        ("Ann went to Rome", "gone"),
        ("they flew over Oslo", "flies"),
        ("the kids are asleep", "child"),
        ("two wolves at the door", "wolf"),
        ("my mum called", "mother"),
        ("a favourite song", "favorites"),
    ],
)
async def test_a_word_is_found_by_its_other_forms(memory: AsyncMemory, content: str, query: str) -> None:
    await memory.retain(content)
    await memory.retain("nothing of that")
    found = await memory.recall(query, techniques=["text"], explain=True, refuse_below=0)
    assert [hit.memory.content for hit in found] == [content]
    explanation = found.hits[0].explain
    assert explanation is not None
    assert len(explanation.words) == 1


async def test_a_form_that_is_also_another_word_is_not_joined(memory: AsyncMemory) -> None:
    await memory.retain("a red rose")
    assert not await memory.recall("the sun will rise", techniques=["text"], refuse_below=0)


async def test_two_forms_in_a_query_are_one_term(memory: AsyncMemory) -> None:
    known = await terms(memory, "who went where others go, by boat")
    assert known.lexemes == ("go", "other", "boat")
    assert known.tsqueries == ("('go' | 'goe' | 'gone' | 'went')", "('other')", "('boat')")


async def test_the_statistics_of_a_term_include_all_forms(memory: AsyncMemory) -> None:
    await memory.retain_many(BOATS)
    await refresh_word_statistics(core_of(memory), "alice")
    known = await terms(memory, "did Ann buy a boat or a zeppelin")
    assert dict(zip(known.lexemes, known.counts, strict=True)) == {
        "ann": 1,
        "buy": 3,
        "boat": 3,
        "zeppelin": None,
    }


def test_a_conjunction_of_frequent_terms_has_all_forms(superuser: AppConnection) -> None:
    found = superuser.execute(
        "SELECT searched, term_bits FROM mnemic.searched_terms(%s, %s, %s, 100000)",
        (["('bought' | 'buy')", "('boat')"], [8_000, 4_000], [1.0, 1.0]),
    ).fetchone()
    assert found == (["('boat') & ('bought' | 'buy')"], [3])


def test_every_form_lists_all_others(superuser: AppConnection) -> None:
    listed = superuser.execute("SELECT word, forms FROM mnemic.word_forms").fetchall()
    families: dict[str, list[str]] = dict(listed)  # type: ignore[arg-type]
    assert families["bought"] == families["buy"] == ["bought", "buy"]
    for word, forms in families.items():
        assert len(forms) > 1, word
        assert all(families[form] == forms for form in forms), word


async def test_the_application_cannot_change_the_forms(
    memory: AsyncMemory, tenant_database: TenantDatabase
) -> None:
    async with tenant_database.transaction() as transaction:
        cursor = await transaction.connection.execute(
            "SELECT privilege FROM unnest('{INSERT,UPDATE,DELETE,TRUNCATE}'::text[]) AS privilege"
            " WHERE has_table_privilege('mnemic.word_forms', privilege)"
        )
        assert await cursor.fetchall() == []
