"""Lists of memories: every filter and order, counts and facets, as of a time and in a branch, too."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from mnemic.errors import InvalidInputError
from mnemic.record import memory_lists
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.memory_list import FacetValue, MemoryCount
from tests.fresh_tenants import contents
from tests.opened import core_of

TURNS: list[dict[str, Any]] = [
    {"role": "user", "name": "Alice", "content": "I moved to Berlin last year.", "tags": ["home"]},
    {"role": "assistant", "content": "How is Berlin?"},
    {"role": "user", "name": "Bob Hope", "content": "I prefer Paris.", "tags": ["home", "travel"]},
]


@pytest.fixture
async def filled(memory: AsyncMemory) -> AsyncMemory:
    """Three turns, and three facts of which one happened before all others."""
    await memory.retain(TURNS, conversation="c")
    await memory.retain("The cello is old.", category="factual", at="2001-05-01T00:00:00Z", confidence=0.25)
    await memory.retain("The cello is in Paris.", category="factual", source="imported")
    await memory.retain("Tea with Alice.", category="preference", tags=["food"], confidence=0.9)
    return memory


FOUND: list[tuple[dict[str, Any], list[str]]] = [
    ({"q": "berlin"}, ["How is Berlin?", "I moved to Berlin last year."]),
    ({"q": "moving Berlin"}, ["I moved to Berlin last year."]),
    ({"q": "berlin paris"}, []),
    ({"q": "berl*"}, ["How is Berlin?", "I moved to Berlin last year."]),
    ({"q": "the"}, []),
    ({"q": "'); DROP TABLE & | ! :*"}, []),
    ({"q": "cello", "order": "happened"}, ["The cello is in Paris.", "The cello is old."]),
    ({"names": ["Alice"]}, ["I moved to Berlin last year."]),
    ({"names": ["Bob Hope", "Alice"]}, ["I prefer Paris.", "I moved to Berlin last year."]),
    ({"names": ["The"]}, []),
    ({"names": ["Alice"], "q": "paris"}, []),
    ({"roles": ["assistant"]}, ["How is Berlin?"]),
    ({"sources": ["imported"]}, ["The cello is in Paris."]),
    ({"tags": ["home"]}, ["I prefer Paris.", "I moved to Berlin last year."]),
    ({"tags": ["home", "travel"]}, ["I prefer Paris."]),
    ({"tags": ["food"], "q": "tea"}, ["Tea with Alice."]),
    ({"min_confidence": 0.95, "categories": ["factual"]}, ["The cello is in Paris."]),
    ({"categories": ["preference"], "roles": ["user"]}, []),
    ({"until": "2002-01-01"}, ["The cello is old."]),
    ({"conversation": "c", "order": "oldest", "limit": 1}, ["I moved to Berlin last year."]),
    ({"ids": []}, []),
]


async def test_every_filter_finds_what_it_names(filled: AsyncMemory, subtests: pytest.Subtests) -> None:
    for given, expected in FOUND:
        with subtests.test(given=given):
            assert contents(await filled.memories.list(**given)) == expected
            filters = {name: value for name, value in given.items() if name not in ("order", "limit")}
            if "limit" not in given:
                assert await filled.memories.count(**filters) == MemoryCount(len(expected), True)
                assert (await filled.memories.facets(**filters)).memory_count == len(expected)


async def test_frequent_words_are_found_in_the_order_of_the_list(
    filled: AsyncMemory, subtests: pytest.Subtests
) -> None:
    """The text index finds more than it may return, so that the memories are read one after the other."""
    await filled.retain_many(f"Berlin number {number}" for number in range(2_100))
    for order, first in (("newest", "Berlin number 2099"), ("oldest", "I moved to Berlin last year.")):
        with subtests.test(order=order):
            found = await filled.memories.list(q="Berlin", order=order, limit=3)  # type: ignore[arg-type]
            assert found[0].content == first
    assert (await filled.memories.list(q="Berlin", roles=["assistant"]))[0].content == "How is Berlin?"


async def test_ids_are_looked_up_in_one_call(filled: AsyncMemory) -> None:
    every = await filled.memories.list()
    wanted: list[UUID | str] = [every[4].memory_id, str(every[1].memory_id)]
    assert await filled.memories.list(ids=wanted) == [every[1], every[4]]
    assert await filled.memories.list(ids=wanted, q="no such word") == []


@pytest.mark.parametrize("order", ["newest", "oldest", "happened", "salience"])
async def test_pages_join_to_the_whole_list(filled: AsyncMemory, order: Any) -> None:
    whole = await filled.memories.list(order=order)
    assert len(whole) == 6
    joined: list[Any] = []
    while page := await filled.memories.list(
        order=order, limit=2, before=joined[-1].memory_id if joined else None
    ):
        joined += page
    assert joined == whole


async def test_orders_are_what_they_say(filled: AsyncMemory) -> None:
    newest = await filled.memories.list()
    assert await filled.memories.list(order="oldest") == newest[::-1]
    assert (await filled.memories.list(order="happened"))[-1].content == "The cello is old."
    useful = newest[3].memory_id
    await filled.memories.feedback(useful)
    assert (await filled.memories.list(order="salience"))[0].memory_id == useful


async def test_the_order_of_salience_is_that_of_today(filled: AsyncMemory) -> None:
    with pytest.raises(InvalidInputError, match="salience"):
        await filled.memories.list(order="salience", as_of=datetime.now(UTC))


async def test_memories_that_were_never_recalled(filled: AsyncMemory) -> None:
    found = await filled.recall("Tea with Alice", limit=1)
    await core_of(filled).write_recalled_counts()
    left = contents(await filled.memories.list(never_recalled=True))
    assert found[0].memory.content not in left
    assert len(left) == 5


async def test_a_list_as_of_a_time_shows_what_was_known_then(filled: AsyncMemory) -> None:
    (tea,) = await filled.memories.list(q="tea")
    moment = datetime.now(UTC)
    await filled.memories.update(tea.memory_id, content="Coffee with Alice.", tags=[])
    await filled.memories.forget((await filled.memories.list(q="moved"))[0].memory_id)
    await filled.retain("Later.")
    assert contents(await filled.memories.list(q="tea")) == []
    assert contents(await filled.memories.list(q="coffee", as_of=moment)) == []
    assert [each.version for each in await filled.memories.list(q="tea", as_of=moment)] == [1]
    assert contents(await filled.memories.list(tags=["food"], as_of=moment)) == ["Tea with Alice."]
    known = await filled.memories.list(as_of=moment)
    assert [each.content for each in known if each.content in ("Later.", "Coffee with Alice.")] == []
    assert len(known) == 6
    assert await filled.memories.list(as_of=moment, limit=2, before=known[1].memory_id) == known[2:4]
    assert [each.memory_id for each in await filled.memories.list(as_of=moment, order="oldest")] == [
        each.memory_id for each in reversed(known)
    ]
    assert await filled.memories.count(as_of=moment) == MemoryCount(6, True)
    assert (await filled.memories.facets(as_of=moment)).tags[0] == FacetValue("home", 2)
    assert await filled.memories.list(as_of="2001-01-01") == []


async def test_a_branch_is_listed_with_its_parent(filled: AsyncMemory) -> None:
    await filled.channels.fork("what-if")
    await filled.retain("Only in the branch, tea.", channel="what-if")
    (tea,) = await filled.memories.list(q="alice", categories=["preference"])
    await filled.memories.forget(tea.memory_id, channel="what-if")
    assert contents(await filled.memories.list(q="tea", channel="what-if")) == ["Only in the branch, tea."]
    assert contents(await filled.memories.list(q="tea")) == ["Tea with Alice."]
    assert await filled.memories.count(channel="what-if") == MemoryCount(6, True)
    assert (await filled.memories.facets(channel="what-if")).memory_count == 6


async def test_facets_count_values_under_the_filters(filled: AsyncMemory) -> None:
    every = await filled.memories.facets()
    assert every.tags == (FacetValue("home", 2), FacetValue("food", 1), FacetValue("travel", 1))
    assert every.roles == (FacetValue("user", 2), FacetValue("assistant", 1))
    assert every.names == (FacetValue("Alice", 1), FacetValue("Bob Hope", 1))
    assert every.statuses == (FacetValue("active", 6),)
    assert (every.memory_count, every.is_exact) == (6, True)
    some = await filled.memories.facets(q="cello")
    assert some.categories == (FacetValue("factual", 2),)
    assert {each.value for each in some.sources} == {"imported", "user_provided"}
    nothing = await filled.memories.facets(q="xyzzy")
    assert (nothing.memory_count, nothing.categories) == (0, ())


async def test_counts_and_facets_are_bounded(filled: AsyncMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_lists, "COUNTED_MAX", 4)
    monkeypatch.setattr(memory_lists, "FACETED_MAX", 4)
    assert await filled.memories.count() == MemoryCount(4, False)
    facets = await filled.memories.facets()
    assert (facets.memory_count, facets.is_exact) == (4, False)


BAD_FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"q": " "}, "q"),
    ({"q": "x" * 401}, "q"),
    ({"ids": ["no id"]}, "ids"),
    ({"ids": 7}, "ids"),
    ({"sources": ["rumour"]}, "sources"),
    ({"roles": [""]}, "roles"),
    ({"names": ["a"] * 101}, "names"),
    ({"min_confidence": 2}, "min_confidence"),
    ({"never_recalled": "yes"}, "never_recalled"),
    ({"as_of": "yesterday"}, "as_of"),
    ({"order": "random"}, "order"),
]


async def test_bad_filters_are_named(memory: AsyncMemory, subtests: pytest.Subtests) -> None:
    for given, named in BAD_FILTERS:
        with subtests.test(named), pytest.raises(InvalidInputError, match=named):
            await memory.memories.list(**given)


async def test_an_owner_lists_only_its_own(filled: AsyncMemory) -> None:
    ids = [each.memory_id for each in await filled.memories.list()]
    assert await filled.memories.list(ids=ids, owner="bob") == []
    assert await filled.memories.list(q="cello", owner="bob") == []
    assert await filled.memories.count(tags=["home"], owner="bob") == MemoryCount(0, True)
