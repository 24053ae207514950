"""Overviews: which memories recall selects for "What do you know about me?"."""

from mnemic.sdk.memory import AsyncMemory
from mnemic.types.recalled import Recalled
from tests.accepted_grants import accepted_grant

ALICE = (
    "Alice Moreau is 41 and works as a welder in Nantes.",
    "Lives in a houseboat on the Erdre.",
    "Alice's son Hugo plays the trumpet.",
    "Is allergic to wasp stings.",
    "Prefers short answers.",
)
TRIVIA = tuple(f"The bus number {number} was late by two minutes." for number in range(30))


def contents(found: Recalled) -> list[str]:
    return [hit.memory.content for hit in found]


async def test_the_owner_is_known_by_facts_before_trivia(memory: AsyncMemory) -> None:
    await memory.retain([*TRIVIA, *ALICE])
    found = await memory.recall("What do you know about me?", limit=5)
    assert not found.refused
    assert set(contents(found)) == set(ALICE)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


async def test_explain_names_the_parts_of_an_overview(memory: AsyncMemory) -> None:
    await memory.retain(ALICE)
    found = await memory.recall("Tell me about Alice", limit=3, explain=True)
    best = found[0].explain
    assert best is not None
    assert {"facet", "subject", "category"} <= set(best.scores)
    assert abs(sum(best.scores.values()) - best.fused) < 0.02


async def test_an_overview_of_a_name_has_only_memories_that_mention_it(memory: AsyncMemory) -> None:
    about = ["Priya Nair does the books.", "Lunch with Priya on Friday."]
    await memory.retain([*ALICE, *about])
    found = await memory.recall("Summarise Priya")
    assert sorted(contents(found)) == sorted(about)
    assert found.confidence == 1


async def test_the_main_subject_has_the_memories_without_a_subject(memory: AsyncMemory) -> None:
    await memory.retain([*ALICE, "Priya Nair does the books."])
    found = contents(await memory.recall("Tell me about Alice"))
    assert set(found) == set(ALICE)


async def test_an_unknown_name_is_searched_for_as_usual(memory: AsyncMemory) -> None:
    await memory.retain(ALICE)
    assert (await memory.recall("Tell me about Zebulon")).refused


async def test_a_topic_asks_for_its_kind_of_memories(memory: AsyncMemory) -> None:
    rules = ["Use tabs, never spaces.", "Every branch has a ticket number."]
    await memory.retain(rules, category="procedural")
    await memory.retain(TRIVIA[:10])
    found = await memory.recall("Sum up the conventions of this repo", limit=2)
    assert set(contents(found)) == set(rules)


async def test_similar_memories_give_way_to_others(memory: AsyncMemory) -> None:
    teas = [f"Likes green tea from garden number {number}." for number in range(10)]
    await memory.retain([*teas, "Lives in Nantes.", "Has a son called Hugo."])
    found = contents(await memory.recall("What do you know about me?", limit=4))
    assert {"Lives in Nantes.", "Has a son called Hugo."} <= set(found)


async def test_words_alone_suffice(memory: AsyncMemory) -> None:
    await memory.retain([*TRIVIA[:5], *ALICE])
    found = await memory.recall("What do you know about me?", limit=5, techniques=["text"])
    assert set(contents(found)) == set(ALICE)


async def test_nothing_is_known_without_memories(memory: AsyncMemory) -> None:
    assert (await memory.recall("What do you know about me?")).refused


async def test_memories_that_others_share_are_not_about_me(memory: AsyncMemory) -> None:
    await memory.retain(ALICE)
    await memory.retain("Bob is 60 and lives in Leeds.", owner="bob")
    await accepted_grant(memory, "alice", owner="bob")
    found = await memory.recall("What do you know about me?", limit=50)
    assert set(contents(found)) == set(ALICE)
    assert contents(await memory.recall("Summarise Bob")) == ["Bob is 60 and lives in Leeds."]
