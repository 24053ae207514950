"""Words of other languages are found in their other forms."""

import pytest

from mnemic.recall.index_maintenance import refresh_word_statistics
from mnemic.sdk.memory import AsyncMemory
from tests.opened import core_of

STORED = (
    "Mi hermana trabaja en una clínica de Bilbao",
    "Die Schwester wohnt in einer kleinen Wohnung",
    "Мой брат работает в больнице",
    "My brother works on a boat",
)


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("¿Dónde trabajan las hermanas?", STORED[0]),
        ("Wer hat denn kleine Wohnungen?", STORED[1]),
        ("Где работают братья?", STORED[2]),
        ("who is working on boats", STORED[3]),
    ],
)
@pytest.mark.parametrize("has_statistics", [False, True])
async def test_other_forms_are_found(
    memory: AsyncMemory, query: str, wanted: str, has_statistics: bool
) -> None:
    await memory.retain([*STORED])
    if has_statistics:
        await refresh_word_statistics(core_of(memory), "alice")
    found = await memory.recall(query, techniques=["text"], refuse_below=0)
    assert [hit.memory.content for hit in found] == [wanted]


async def test_stopwords_of_the_query_language_find_nothing(memory: AsyncMemory) -> None:
    await memory.retain(["donde mi la", "una casa"])
    found = await memory.recall("¿dónde está la casa de mi madre?", techniques=["text"], refuse_below=0)
    assert [hit.memory.content for hit in found] == ["una casa"]


@pytest.mark.parametrize("query", ["Anna", "nightingale", "Sloop", "école"])
async def test_words_between_typographic_punctuation_are_found(memory: AsyncMemory, query: str) -> None:
    wanted = "Anna’s boat is the “Nightingale”—a sloop—behind the ÉCOLE…"
    await memory.retain([wanted, "something else"])
    found = await memory.recall(query, techniques=["text"], refuse_below=0)
    assert [hit.memory.content for hit in found] == [wanted]
