"""What consolidation makes from turns ranks below the turns; a filter finds it."""

from mnemic.sdk.memory import AsyncMemory

SAID = (
    "I live in Porto with my two cats.",
    "The harbour of Porto is loud in summer.",
    "I work at Hale Shipping as a clerk.",
    "My sister sells bowls at the market in Porto.",
    "We sailed to Lisbon in spring and came back by train.",
    "Next year I want to learn how to repair old clocks.",
    "The market in Porto opens at eight on Saturdays.",
)


async def test_turns_rank_above_statements_and_summaries_made_from_them(memory: AsyncMemory) -> None:
    await memory.retain_many([{"content": each, "role": "user"} for each in SAID], conversation="talk")
    made = await memory.consolidate()
    assert made.statement_count
    assert made.summary_count == 1
    for question in ("Where do I live?", "Where do I work?"):
        found = (await memory.recall(question, refuse_below=0, limit=20, explain=True)).hits
        assert found[0].memory.conversation == "talk"
        assert "summary" in found[-1].memory.tags
        derived = [hit for hit in found if hit.memory.source in ("extracted", "inferred")]
        assert all(hit.explain is not None and hit.explain.scores["derived"] < 0 for hit in derived)


async def test_a_filter_by_tag_finds_summaries(memory: AsyncMemory) -> None:
    await memory.retain_many([{"content": each, "role": "user"} for each in SAID], conversation="talk")
    await memory.consolidate()
    (hit,) = (await memory.recall("What about Porto?", refuse_below=0, tags=["summary"])).hits
    assert hit.memory.source == "inferred"
