"""Levels are made once for each full text, and belong to its owner."""

import pytest

from mnemic.context import level_store
from mnemic.context.levels.level import Level, LevelText, Source
from mnemic.context.levels.shortening import make_level
from mnemic.sdk.memory import AsyncMemory

CODE = "\n\n".join(f"def function_{n}(value):\n    total = value + {n}\n    return total" for n in range(200))


async def test_levels_are_made_once(memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Level] = []

    def counted(source: Source, level: Level) -> LevelText:
        made.append(level)
        return make_level(source, level)

    context = memory.context("s")
    await context.admit(CODE, tool="read", key="src/app.py")
    monkeypatch.setattr(level_store, "make_level", counted)
    first = (await context.get("src/app.py")).levels
    assert made == [1, 2, 3]
    assert [level.made_by for level in first] == ["rules"] * 3
    # Level 3 is one line: it is not stored.
    assert (await context.get("src/app.py")).levels == first
    assert made == [1, 2, 3, 3]
    # The same text of the same origin in another session.
    other = memory.context("t")
    await other.admit(CODE, tool="read", key="src/app.py")
    made.clear()
    assert (await other.get("src/app.py")).levels == first
    assert made == [3]


async def test_levels_are_made_again_for_another_origin_or_by_newer_rules(
    memory: AsyncMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = memory.context("s")
    await context.admit(CODE, tool="read", key="src/app.py")
    first = (await context.get("src/app.py")).levels
    await context.admit(CODE, tool="read", key="src/copy.py")
    copied = (await context.get("src/copy.py")).levels
    assert copied != first
    assert "src/copy.py" in copied[0].text
    assert (await context.get("src/app.py#1")).levels == first
    monkeypatch.setattr(level_store, "RULES", "rules-next")
    monkeypatch.setattr(level_store, "make_level", lambda source, level: LevelText(level, "newer", 1))
    assert [level.text for level in (await context.get("src/app.py#1")).levels] == ["newer"] * 3
