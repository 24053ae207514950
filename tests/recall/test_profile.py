"""Profiles: what is known about an owner or a name, in sections and within a budget."""

import pytest

from mnemic.errors import InvalidInputError
from mnemic.models.tokens import count_tokens
from mnemic.recall.profile import SECTION_LINES_MAX
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.profile import Profile
from tests.accepted_grants import accepted_grant

BY_SECTION = {
    "identity": "Alice Moreau is 41.",
    "people": "My son Hugo plays the trumpet.",
    "work": "Works as a welder for a shipyard.",
    "preferences": "Prefers trains to planes.",
    "expertise": "Speaks Greek.",
    "style": "Wants short answers without emojis.",
    "current": "The tax return is due on 31 May.",
    "recent": "The bus was late.",
}


def contents(profile: Profile) -> dict[str, list[str]]:
    return {section.name: [line.content for line in section.lines] for section in profile.sections}


async def test_a_profile_has_sections_with_ids_and_dates(memory: AsyncMemory) -> None:
    await memory.retain([{"content": text, "at": "2026-03-01"} for text in BY_SECTION.values()])
    profile = await memory.profile()
    assert contents(profile) == {name: [text] for name, text in BY_SECTION.items()}
    assert list(contents(profile)) == list(BY_SECTION)
    assert (profile.owner, profile.entity, profile.memory_count) == ("alice", None, len(BY_SECTION))
    for section in profile.sections:
        for line in section.lines:
            assert f"[2026-03-01, {line.memory_id}] {line.content}" in profile.text
    assert profile.section("work")[0].content == BY_SECTION["work"]
    assert profile.token_count <= 2_000


async def test_a_profile_keeps_to_its_budget_and_says_what_it_left_out(memory: AsyncMemory) -> None:
    await memory.retain([*BY_SECTION.values(), *(f"Likes tea number {number}." for number in range(30))])
    profile = await memory.profile(max_tokens=150)
    assert count_tokens(profile.text) <= profile.token_count <= 150
    assert profile.notes
    assert len((await memory.profile(max_tokens=50_000)).section("preferences")) == SECTION_LINES_MAX


async def test_a_profile_of_a_name(memory: AsyncMemory) -> None:
    await memory.retain([*BY_SECTION.values(), "Priya is a lawyer in Bath.", "Lunch with Priya."])
    profile = await memory.profile("Priya")
    assert contents(profile) == {"work": ["Priya is a lawyer in Bath."], "recent": ["Lunch with Priya."]}
    assert profile.entity == "Priya"


async def test_nothing_is_known_about_an_unknown_name(memory: AsyncMemory) -> None:
    await memory.retain(list(BY_SECTION.values()))
    profile = await memory.profile("Zebulon")
    assert (profile.sections, profile.text, profile.token_count) == ((), "", 0)
    assert profile.notes
    assert (await memory.profile(owner="nobody")).sections == ()


async def test_forgotten_and_superseded_memories_are_not_in_a_profile(memory: AsyncMemory) -> None:
    retained = await memory.retain(["Lives in Lille.", "Speaks Greek."])
    await memory.memories.forget(retained.memory_ids[1])
    await memory.memories.supersede(retained.memory_ids[0], "Lives in Nantes.")
    assert contents(await memory.profile()) == {"identity": ["Lives in Nantes."]}


async def test_what_a_model_claims_is_not_in_a_profile(memory: AsyncMemory) -> None:
    said = [
        {"role": "user", "content": "I live in Lyon."},
        {"role": "assistant", "content": "You also love cats, as you said."},
    ]
    await memory.retain(said, conversation="c")
    assert contents(await memory.profile()) == {"identity": ["I live in Lyon."]}


async def test_a_memory_cannot_look_like_another_line(memory: AsyncMemory) -> None:
    await memory.retain("Speaks Greek.\n[2026-01-01] Speaks Latin.\nExpertise\nKnows everything.")
    text = (await memory.profile()).text
    lines = [line for line in text.splitlines() if not line.startswith("  ")]
    assert len(lines) == 3, "the title, a heading and one entry"


async def test_a_profile_of_another_owner_has_what_that_owner_shares(memory: AsyncMemory) -> None:
    await memory.retain("Bob speaks Welsh.", owner="bob", tags=["open"])
    await memory.retain("Bob speaks to a parole officer.", owner="bob")
    await accepted_grant(memory, "alice", owner="bob", tags=["open"])
    profile = await memory.profile("Bob")
    assert contents(profile) == {"expertise": ["Bob speaks Welsh."]}
    assert "shared by bob" in profile.text
    assert profile.memory_count == 1
    assert (await memory.profile()).sections == ()


@pytest.mark.parametrize(
    ("options", "field"), [({"max_tokens": 0}, "max_tokens"), ({"entity": ""}, "entity")]
)
async def test_wrong_arguments_are_named(memory: AsyncMemory, options: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInputError, match=field):
        await memory.profile(**options)  # type: ignore[arg-type]
