"""Recall with `as_of`: memories that were known and valid at a moment, found by their words of that time."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from mnemic.sdk.memory import AsyncMemory

ANYTHING = {"refuse_below": 0, "limit": 100}


def now() -> datetime:
    return datetime.now(UTC)


async def only(memory: AsyncMemory, content: str, **fields: object) -> UUID:
    (memory_id,) = (await memory.retain(content, **fields)).memory_ids  # type: ignore[arg-type]
    return memory_id


async def by_words(memory: AsyncMemory, query: str, as_of: datetime | str | None = None) -> list[str]:
    """The hits of the lexical search: by the words of that time."""
    found = await memory.recall(query, as_of=as_of, techniques=["text"], **ANYTHING)  # type: ignore[arg-type]
    return [hit.memory.content for hit in found]


async def found_at_all(memory: AsyncMemory, query: str, as_of: datetime | str | None = None) -> set[str]:
    """The hits of all techniques, semantic search included."""
    found = await memory.recall(query, as_of=as_of, **ANYTHING)  # type: ignore[arg-type]
    return {hit.memory.content for hit in found}


async def test_a_changed_memory_is_found_by_the_words_of_its_time(memory: AsyncMemory) -> None:
    before = now()
    memory_id = await only(memory, "Alice lives in Rome")
    first = now()
    await memory.memories.update(memory_id, content="Alice lives in Paris")
    second = now()
    await memory.memories.update(memory_id, content="Alice lives in Oslo")
    third = now()
    cities = ("Rome", "Paris", "Oslo")
    known: dict[datetime | None, str | None] = {
        before: None,
        first: "Rome",
        second: "Paris",
        third: "Oslo",
        None: "Oslo",
    }
    for moment, known_city in known.items():
        expected = {city: [f"Alice lives in {city}"] if city == known_city else [] for city in cities}
        assert {city: await by_words(memory, city, moment) for city in cities} == expected
        whole = {f"Alice lives in {known_city}"} if known_city else set()
        assert await found_at_all(memory, "Rome Paris Oslo", moment) == whole


async def test_a_hit_is_the_version_of_its_time(memory: AsyncMemory) -> None:
    memory_id = await only(memory, "Alice lives in Rome", confidence=0.5, tags=["old"])
    first = now()
    await memory.memories.update(memory_id, content="Alice moved to Paris", confidence=0.9, tags=["new"])
    (hit,) = await memory.recall("Rome", as_of=first)
    assert (hit.memory.version, hit.memory.content) == (1, "Alice lives in Rome")
    assert (hit.memory.confidence, hit.memory.tags) == (0.5, ("old",))
    assert hit.memory == await memory.memories.as_of(memory_id, first)
    (hit,) = await memory.recall("Paris")
    assert hit.memory.version == 2


async def test_filters_are_about_the_version_of_its_time(memory: AsyncMemory) -> None:
    memory_id = await only(memory, "Alice lives in Rome", tags=["old"])
    first = now()
    await memory.memories.update(memory_id, tags=["new"], category="preference")
    for moment, tag, category in ((first, "old", "factual"), (None, "new", "preference")):
        for asked_tag in ("old", "new"):
            found = await memory.recall("Rome", as_of=moment, tags=[asked_tag], refuse_below=0)
            assert bool(found) == (asked_tag == tag)
        for asked_category in ("factual", "preference"):
            found = await memory.recall(
                "Rome",
                as_of=moment,
                categories=[asked_category],
                refuse_below=0,
            )
            assert bool(found) == (asked_category == category)


async def test_a_forgotten_memory_is_known_before_and_after_it_was_restored(memory: AsyncMemory) -> None:
    memory_id = await only(memory, "Alice lives in Rome")
    kept = now()
    await memory.memories.forget(memory_id)
    forgotten = now()
    assert await found_at_all(memory, "Rome") == set()
    await memory.memories.restore(memory_id)
    restored = now()
    for moment, is_known in ((kept, True), (forgotten, False), (restored, True), (None, True)):
        assert bool(await by_words(memory, "Rome", moment)) == is_known
        assert bool(await found_at_all(memory, "Rome", moment)) == is_known


async def test_a_superseded_memory_is_what_was_known_until_then(memory: AsyncMemory) -> None:
    memory_id = await only(memory, "Alice lives in Rome")
    before = now()
    await memory.memories.supersede(memory_id, "Alice lives in Paris")
    for moment, city in ((before, "Rome"), (now(), "Paris"), (None, "Paris")):
        assert await found_at_all(memory, "Where does Alice live?", moment) == {f"Alice lives in {city}"}
        other = "Paris" if city == "Rome" else "Rome"
        assert await by_words(memory, other, moment) == []


async def test_only_what_was_valid_at_the_moment_counts(memory: AsyncMemory) -> None:
    await only(memory, "the shop is open", valid_from="2100-01-01T00:00:00Z", valid_to="2101-01-01T00:00:00Z")
    await only(memory, "the shop is closed", valid_to="2100-01-01T00:00:00Z")
    for moment, expected in (
        (now(), {"the shop is closed"}),
        ("2099-12-31T23:59:59.999999Z", {"the shop is closed"}),
        ("2100-01-01T00:00:00Z", {"the shop is open"}),
        ("2101-01-01T00:00:00Z", set()),
        (None, {"the shop is open", "the shop is closed"}),
    ):
        assert await found_at_all(memory, "shop", moment) == expected


async def test_expired_is_what_had_expired_at_the_moment(memory: AsyncMemory) -> None:
    await only(memory, "the ticket is valid", expires_at="2100-01-01T00:00:00Z")
    assert await found_at_all(memory, "ticket") == {"the ticket is valid"}
    assert await found_at_all(memory, "ticket", "2099-01-01T00:00:00Z") == {"the ticket is valid"}
    assert await found_at_all(memory, "ticket", "2100-01-01T00:00:00Z") == set()


async def test_turns_around_a_hit_are_those_of_the_moment(memory: AsyncMemory) -> None:
    ids = (await memory.retain(["it was dark", "the eclipse was total"], conversation="sky")).memory_ids
    before = now()
    await memory.memories.forget(ids[0])
    await memory.memories.forget(ids[1])
    (hit, _) = await memory.recall("eclipse", as_of=before, include=["neighbours"])
    assert [turn.content for turn in hit.neighbours] == ["it was dark"]
    await memory.memories.restore(ids[1])
    (hit,) = await memory.recall("eclipse", include=["neighbours"])
    assert hit.neighbours == ()


async def test_an_erased_owner_has_no_past(memory: AsyncMemory) -> None:
    memory_id = await only(memory, "Alice lives in Rome")
    await memory.memories.update(memory_id, content="Alice lives in Paris")
    moment = now()
    await memory.admin.erase("alice")
    assert await found_at_all(memory, "Rome Paris", moment) == set()


@pytest.mark.parametrize("as_of", ["2000-01-01T00:00:00Z", "0001-01-01T00:00:00Z"])
async def test_before_everything_nothing_was_known(memory: AsyncMemory, as_of: str) -> None:
    await only(memory, "Alice lives in Rome")
    found = await memory.recall("Rome", as_of=as_of, refuse_below=0)
    assert found.refused
