"""Recall: order, explanations, limits and refusals."""

import asyncio
from typing import Any

import pytest

from mnemic.db.database import Database
from mnemic.errors import InvalidInputError
from mnemic.models.tokens import count_tokens
from mnemic.recall.request import METADATA_MAX_BYTES
from mnemic.recall.selection import CONVERSATION_SHARE
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.recalled import Hit, Recalled
from tests.accepted_grants import accepted_grant
from tests.opened import core_of
from tests.recall.conftest import OpenWith
from tests.unsteady_engine import Unsteady
from tests.waiting import wait_for

FACTS = (
    "Alice keeps bees behind the house",
    "Alice drives an old green tractor",
    "The dentist of Alice is in Porto",
    "Alice paid for the concert in cash",
)
# Scores are rounded to three digits each.
ROUNDING = 0.02


def contents(found: Recalled) -> list[str]:
    return [hit.memory.content for hit in found]


def explained(hit: Hit) -> Any:
    assert hit.explain is not None
    return hit.explain


@pytest.fixture
async def facts(memory: AsyncMemory) -> AsyncMemory:
    """Alice's memory with a few facts."""
    await memory.retain(FACTS)
    return memory


@pytest.mark.parametrize(
    ("query", "best"), [("tractor", 1), ("Where is the dentist?", 2), ("bees house", 0), ("concerts", 3)]
)
async def test_the_memory_with_the_words_of_the_query_comes_first(
    facts: AsyncMemory, query: str, best: int
) -> None:
    found = await facts.recall(query)
    assert not found.refused
    assert contents(found)[0] == FACTS[best]
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert all(0 <= hit.score <= 1 for hit in found)


async def test_a_rare_word_says_more_than_a_frequent_one(memory: AsyncMemory) -> None:
    await memory.retain([f"the garden has tree number {number}" for number in range(20)])
    await memory.retain("the cellar has a piano")
    found = await memory.recall("garden piano", techniques=["text"])
    assert contents(found)[0] == "the cellar has a piano"


async def test_meaning_finds_what_no_word_does(open_with: OpenWith) -> None:
    memory = await open_with(embedder="local")
    await memory.retain(["My dog is called Bello", "The car needs new tyres", "Dinner is at eight"])
    found = await memory.recall("a pet's name", refuse_below=0, explain=True)
    assert contents(found)[0] == "My dog is called Bello"
    assert explained(found[0]).words == ()
    assert explained(found[0]).cosine > explained(found[1]).cosine


async def test_the_words_of_whoever_is_named_come_first(memory: AsyncMemory) -> None:
    turns = [{"role": "user", "name": name, "content": f"hiking is {name[0]}"} for name in ("Bob", "Carol")]
    await memory.retain(turns, conversation="walk")
    for name in ("Bob", "Carol"):
        found = await memory.recall(f"What does {name} say about hiking?", explain=True)
        assert found[0].memory.name == name
        assert explained(found[0]).scores["speaker"] > 0


async def test_a_question_in_the_first_person_prefers_what_the_user_said(memory: AsyncMemory) -> None:
    said = "the marathon in spring"
    for number, role in enumerate(("assistant", "user", "assistant")):
        await memory.retain({"role": role, "content": said}, conversation=f"talk {number}")
    found = await memory.recall("What did I say about the marathon?", explain=True)
    assert found[0].memory.role == "user"
    found = await memory.recall("What did you tell about the marathon in spring?", explain=True)
    assert found[0].memory.role == "assistant"
    assert explained(found[0]).scores["role"] > 0


async def test_a_turn_of_a_few_words_counts_less_and_a_fact_does_not(memory: AsyncMemory) -> None:
    told = "We flew kites on the hill behind the school until the wind dropped and everybody went home."
    turns = [{"role": "user", "content": "Kites!"}, {"role": "user", "content": told}]
    await memory.retain(turns, conversation="on the hill")
    await memory.retain("Bob sells kites.")
    found = await memory.recall("kites", refuse_below=0, explain=True)
    scores = {hit.memory.content: explained(hit).scores for hit in found}
    assert scores["Kites!"]["length"] < 0 < scores[told]["length"]
    assert "length" not in scores["Bob sells kites."]


async def test_a_quoted_phrase_must_stand_together(memory: AsyncMemory) -> None:
    apart, together = "the red house has a new door", "the new red door has a house"
    await memory.retain([apart, together])
    found = await memory.recall('"new red door"', explain=True)
    assert contents(found)[0] == together
    assert "new red door" in explained(found[0]).words
    assert "new red door" not in explained(found[1]).words


async def test_every_hit_is_explained(facts: AsyncMemory) -> None:
    await facts.retain(["the bees are angry", "put on the veil"], conversation="garden")
    found = await facts.recall("angry bees", explain=True)
    assert len(found) > 2
    for hit in found:
        why = explained(hit)
        assert why.found_by
        assert set(why.found_by) <= {"vector", "text", "graph", "time", "neighbours"}
        assert sum(why.scores.values()) == pytest.approx(why.fused, abs=ROUNDING)
        assert why.conversation == hit.memory.conversation
        assert -1 <= why.cosine <= 1
        assert why.grant_id is None
    best = explained(found[0])
    assert set(best.words) == {"angri", "bee"}
    assert set(best.conversation_words) == {"angri", "bee"}
    assert len(best.neighbours) == 1
    assert all(hit.explain is None for hit in await facts.recall("angry bees"))


@pytest.mark.parametrize("technique", ["text", "vector", "graph", "time"])
async def test_a_technique_works_alone(facts: AsyncMemory, technique: str) -> None:
    await facts.entities.upsert("place", "Lisbon")
    await facts.retain("yesterday's tram in Lisbon was late", at="2026-03-09T10:00:00Z")
    found = await facts.recall(
        "the tram in Lisbon yesterday",
        at="2026-03-10T10:00:00Z",
        techniques=[technique],  # type: ignore[list-item]
        refuse_below=0,
        explain=True,
    )
    assert contents(found)[0] == "yesterday's tram in Lisbon was late"
    assert all(explained(hit).found_by == (technique,) for hit in found)
    assert set(found.counts) == {technique}
    assert found.counts[technique] >= 1
    assert found.timings[technique] > 0
    assert found.timings["total"] >= found.timings[technique]


async def test_without_vectors_nothing_is_embedded(facts: AsyncMemory) -> None:
    found = await facts.recall("tractor", techniques=["text"], explain=True)
    assert "embed" not in found.timings
    assert explained(found[0]).cosine is None


@pytest.mark.parametrize("techniques", [(), ("neighbours",), ("hyde", "expansion", "self_query")])
async def test_techniques_that_find_nothing_alone_are_refused(
    facts: AsyncMemory, techniques: tuple[Any, ...]
) -> None:
    with pytest.raises(InvalidInputError, match="techniques must have at least one of vector, text"):
        await facts.recall("tractor", techniques=techniques)


async def test_the_settings_say_which_techniques_are_used(open_with: OpenWith) -> None:
    memory = await open_with({"techniques": ["text"]})
    await memory.retain(FACTS)
    assert set((await memory.recall("tractor")).counts) == {"text"}
    assert set((await memory.recall("tractor", techniques=["vector"])).counts) == {"vector"}


async def test_turns_around_a_hit_come_with_it(memory: AsyncMemory) -> None:
    turns = ["zero", "one", "two", "the eclipse was total", "four", "five", "six"]
    await memory.retain(turns, conversation="sky")
    found = await memory.recall("eclipse", include=["neighbours"], limit=1)
    (hit,) = found
    assert [turn.content for turn in hit.neighbours] == ["one", "two", "four", "five"]
    assert (await memory.recall("eclipse", limit=1))[0].neighbours == ()


async def test_turns_around_every_hit_come_with_it_however_many_hits_there_are(memory: AsyncMemory) -> None:
    for number in range(10):
        turns = [f"before {number}", f"the eclipse of year {number}", f"after {number}"]
        await memory.retain(turns, conversation=f"sky {number}")
    # One technique alone: another one could add neighbours.
    found = await memory.recall(
        "eclipse", include=["neighbours"], limit=10, techniques=["text", "neighbours"]
    )
    around = {hit.memory.content: [turn.content for turn in hit.neighbours] for hit in found}
    assert around == {
        f"the eclipse of year {number}": [f"before {number}", f"after {number}"] for number in range(10)
    }


async def test_turns_around_a_hit_are_found_and_can_be_left_out(memory: AsyncMemory) -> None:
    await memory.retain(["it was wonderful", "the eclipse was total"], conversation="sky")
    query = {"query": "eclipse", "refuse_below": 0, "explain": True}
    found = await memory.recall(**query, techniques=["text", "neighbours"])  # type: ignore[arg-type]
    assert {explained(hit).found_by for hit in found} == {("text",), ("neighbours",)}
    assert found.counts == {"text": 1, "neighbours": 1}
    assert found.timings["neighbours"] > 0
    alone = await memory.recall(**query, techniques=["text"])  # type: ignore[arg-type]
    assert contents(alone) == ["the eclipse was total"]
    assert alone.counts == {"text": 1}


async def test_names_of_entities_come_with_a_hit(memory: AsyncMemory) -> None:
    for name in ("Lisbon", "Ada"):
        await memory.entities.upsert("thing", name)
    await memory.retain(["Ada moved to Lisbon", "The tram was late"])
    found = await memory.recall("Ada moved tram", include=["entities"], refuse_below=0)
    assert {hit.memory.content: hit.entities for hit in found} == {
        "Ada moved to Lisbon": ("Ada", "Lisbon"),
        "The tram was late": (),
    }
    assert all(hit.entities == () for hit in await memory.recall("Ada moved tram", refuse_below=0))


async def test_the_graph_finds_what_is_about_somebody_related(memory: AsyncMemory) -> None:
    ada = await memory.entities.upsert("person", "Ada")
    bob = await memory.entities.upsert("person", "Bob")
    await memory.entities.relate(ada.entity_id, bob.entity_id, "knows")
    await memory.retain(["Ada repairs clocks", "Bob paints boats", "nobody is here"])
    found = await memory.recall("Ada", techniques=["graph"], refuse_below=0, explain=True)
    assert contents(found) == ["Ada repairs clocks", "Bob paints boats"]
    assert explained(found[0]).scores["graph"] > explained(found[1]).scores["graph"] > 0


async def test_the_packed_text_stays_within_its_budget(memory: AsyncMemory) -> None:
    await memory.retain([f"the ship number {number} carries {'grain ' * number}" for number in range(1, 30)])
    whole = await memory.recall("ship grain", limit=30)
    assert whole.token_count > 300
    for budget in (1, 20, 100, 300):
        found = await memory.recall("ship grain", limit=30, max_tokens=budget)
        assert count_tokens(found.text) <= found.token_count <= budget
        assert len(found) == len(whole)
        assert any("did not fit into max_tokens" in note for note in found.notes)
    found = await memory.recall("ship grain", limit=30, max_tokens=100)
    assert found.text
    assert not any("max_tokens" in note for note in whole.notes)
    assert all(hit.memory.content in whole.text for hit in whole)


async def test_the_text_says_when_and_who(memory: AsyncMemory) -> None:
    turn = {"role": "user", "name": "Bob", "content": "I sold the boat", "at": "2026-01-05T10:00:00Z"}
    await memory.retain(turn, conversation="harbour")
    assert (await memory.recall("boat")).text == "[2026-01-05] Bob: I sold the boat"


@pytest.mark.parametrize("limit", [1, 3, 10, 1000])
async def test_there_are_never_more_hits_than_the_limit(memory: AsyncMemory, limit: int) -> None:
    await memory.retain([f"the ship number {number}" for number in range(12)])
    assert len(await memory.recall("ship", limit=limit)) == min(limit, 12)


BAD_ARGUMENTS: list[tuple[str, object]] = [
    ("limit", 0),
    ("limit", 1001),
    ("limit", True),
    ("max_tokens", 0),
    ("refuse_below", 1.1),
    ("refuse_below", float("nan")),
    ("min_confidence", -0.1),
    ("categories", ["secret"]),
    ("categories", "factual"),
    ("statuses", ["gone"]),
    ("channels", []),
    ("tags", "red"),
    ("conversation", ""),
    ("since", "yesterday"),
    ("as_of", "2026-01-01T00:00:00"),
    ("at", 5),
    ("techniques", ["magic"]),
    ("include", ["everything"]),
    ("metadata", ["a"]),
    ("metadata", {1: "a"}),
    ("metadata", {"a": object()}),
    ("metadata", {"a": "x" * METADATA_MAX_BYTES}),
    ("metadata", {"a": "\0"}),
    ("role", ""),
    ("name", 7),
    ("document", "\n"),
    ("source", "rumour"),
    ("min_score", 1.5),
    ("strict", "yes"),
    ("record", 0),
]


async def test_what_cannot_be_asked_is_refused_by_name(
    memory: AsyncMemory, subtests: pytest.Subtests
) -> None:
    for field, value in BAD_ARGUMENTS:
        with subtests.test(field), pytest.raises(InvalidInputError, match=field):
            await memory.recall("ship", **{field: value})  # type: ignore[arg-type]


async def test_one_conversation_does_not_fill_the_answer(memory: AsyncMemory) -> None:
    await memory.retain([f"harvest of apples, part {number}" for number in range(20)], conversation="long")
    await memory.retain([f"harvest of pears with much else in field {number}" for number in range(10)])
    found = await memory.recall("harvest of apples", limit=10, refuse_below=0)
    of_one = [hit for hit in found if hit.memory.conversation == "long"]
    assert len(found) == 10
    assert len(of_one) == round(10 * CONVERSATION_SHARE) < 10


async def test_one_conversation_fills_the_answer_when_there_is_nothing_else(memory: AsyncMemory) -> None:
    await memory.retain([f"harvest of apples, part {number}" for number in range(20)], conversation="long")
    assert len(await memory.recall("harvest", limit=10)) == 10


async def test_a_refusal_has_no_memories_and_says_why(facts: AsyncMemory) -> None:
    found = await facts.recall("quantum chromodynamics", explain=True)
    assert found.refused
    assert (found.hits, found.text, found.token_count) == ((), "", 0)
    assert found.reason is not None
    assert "below the threshold 0.25" in found.reason
    assert 0 <= found.confidence < 0.5
    assert not any(fact in str(found) for fact in FACTS)


async def test_an_owner_without_memories_is_the_reason_for_a_refusal(memory: AsyncMemory) -> None:
    found = await memory.recall("anything", refuse_below=0)
    assert (found.refused, len(found), bool(found)) == (True, 0, False)
    assert found.reason == "The owner 'alice' has no memories."
    await memory.retain("Bob likes tea.", owner="bob")
    assert (await memory.recall("tea")).reason == "The owner 'alice' has no memories."
    await accepted_grant(memory, "alice", owner="bob")
    assert [hit.memory.owner for hit in await memory.recall("tea")] == ["bob"]


async def test_filters_that_nothing_passes_are_the_reason_for_a_refusal(facts: AsyncMemory) -> None:
    found = await facts.recall("anything", refuse_below=0, tags=["nothing has this"])
    assert (found.refused, len(found)) == (True, 0)
    assert found.reason == "Nothing that this owner may read passes the filters."


async def test_the_threshold_of_refusal_can_be_set(facts: AsyncMemory) -> None:
    assert not (await facts.recall("quantum chromodynamics", refuse_below=0)).refused
    assert (await facts.recall("tractor", refuse_below=1)).refused
    assert not (await facts.recall("tractor", refuse_below=0)).refused


async def test_the_settings_say_when_to_refuse_and_the_call_has_the_last_word(open_with: OpenWith) -> None:
    memory = await open_with({"refuse_below": 1.0})
    await memory.retain(FACTS)
    assert (await memory.recall("tractor")).refused
    assert not (await memory.recall("tractor", refuse_below=0)).refused
    never = await open_with({"refuse_below": 0.0})
    await never.retain(FACTS)
    assert not (await never.recall("quantum chromodynamics")).refused


async def test_strict_refuses_what_is_weak_unless_the_call_sets_the_threshold(open_with: OpenWith) -> None:
    memory = await open_with({"refuse_below": 0.0})
    await memory.retain(FACTS)
    weak = await memory.recall("quantum chromodynamics")
    assert (weak.outcome, weak.refused, len(weak)) == ("weak", False, len(FACTS))
    strict = await memory.recall("quantum chromodynamics", strict=True)
    assert (strict.outcome, strict.refused, len(strict)) == ("refused", True, 0)
    assert (await memory.recall("tractor", strict=True)).outcome == "found"
    assert (await memory.recall("quantum chromodynamics", strict=True, refuse_below=0)).outcome == "weak"


async def test_weak_hits_are_marked_in_the_first_line_of_the_text(facts: AsyncMemory) -> None:
    foreign: dict[str, Any] = {"query": "quantum chromodynamics", "refuse_below": 0}
    found = await facts.recall(**foreign)
    assert found.outcome == "weak"
    head, *entries = found.text.splitlines()
    assert head == f"These memories may not answer the question (confidence {found.confidence:.2f})."
    assert len(entries) == len(found)
    packed = await facts.recall(**foreign, max_tokens=found.token_count - 1)
    assert packed.text.splitlines()[0] == head
    assert 0 < packed.token_count < found.token_count
    assert (await facts.recall(**foreign, max_tokens=5)).text == "", "never the memories without the mark"
    sure = await facts.recall("tractor")
    assert (sure.outcome, sure.text[0]) == ("found", "[")


async def test_a_recall_is_logged_with_its_outcome_unless_it_is_not_recorded(open_with: OpenWith) -> None:
    memory = await open_with({"memory_log": "verbose"})
    await memory.retain(FACTS)
    assert await memory.recall("tractor", record=False)
    assert await memory.log.list(operation="recall") == []
    assert await memory.recall("tractor")
    (logged,) = await memory.log.list(operation="recall")
    assert (logged.detail["outcome"], logged.detail["refused"]) == ("found", False)


async def test_hits_below_the_minimum_score_are_left_out(facts: AsyncMemory) -> None:
    found = await facts.recall("tractor", refuse_below=0)
    second = found[1].score
    best = await facts.recall("tractor", refuse_below=0, min_score=(found[0].score + second) / 2)
    assert [hit.memory.memory_id for hit in best] == [found[0].memory.memory_id]
    assert len(await facts.recall("tractor", refuse_below=0, min_score=0)) == len(found)
    none = await facts.recall("tractor", min_score=1)
    assert (none.outcome, none.refused, len(none), none.text) == ("refused", True, 0, "")
    assert none.reason is not None
    assert "min_score (1.00)" in none.reason


async def test_a_failing_embedder_leaves_the_words(open_with: OpenWith) -> None:
    memory = await open_with()
    await memory.retain(FACTS)
    core_of(memory).embedder._engine.failing = True  # type: ignore[attr-defined]
    found = await memory.recall("tractor")
    assert contents(found)[0] == FACTS[1]
    assert [note for note in found.notes if note.startswith("vector was left out")]


async def test_a_grant_lets_memories_in_and_says_so(memory: AsyncMemory) -> None:
    await memory.retain("the safe is behind the painting", owner="bob")
    assert (await memory.recall("safe painting")).refused
    grant = await accepted_grant(memory, "alice", owner="bob")
    (hit,) = await memory.recall("safe painting", explain=True)
    assert (hit.memory.owner, explained(hit).grant_id) == ("bob", grant.grant_id)
    await memory.shares.revoke(grant.grant_id, owner="bob")
    assert (await memory.recall("safe painting")).refused


async def test_a_memory_that_two_grants_open_comes_once_at_its_better_place(memory: AsyncMemory) -> None:
    """It is the only memory of one grant, and one of many of the other."""
    await memory.retain("a painting of cows", owner="bob", tags=["home"])
    await memory.retain([f"the safe is behind painting number {number}" for number in range(20)], owner="bob")
    for reader, tags in (("carol", None), ("dora", ["home"]), ("alice", None), ("alice", ["home"])):
        await accepted_grant(memory, reader, owner="bob", tags=tags)
    scores: dict[str, dict[str, float]] = {}
    for reader in ("carol", "dora", "alice"):
        found = await memory.recall("safe painting", limit=50, refuse_below=0, owner=reader)
        scores[reader] = {hit.memory.content: hit.score for hit in found}
    assert len({hit.memory.memory_id for hit in found}) == len(found) == 21
    (cows,) = scores["dora"]
    assert scores["dora"][cows] != pytest.approx(scores["carol"][cows], abs=0.01)
    best = max(scores["dora"][cows], scores["carol"][cows])
    assert scores["alice"][cows] == pytest.approx(best, abs=0.0001)
    for limit in (1, 5, 20):
        fewer = await memory.recall("safe painting", limit=limit)
        assert contents(fewer) == contents(found)[:limit]


async def test_more_grants_than_a_recall_looks_at_are_told(memory: AsyncMemory) -> None:
    for number in range(33):
        await memory.retain("the well is deep", owner=f"owner {number}")
        await accepted_grant(memory, "alice", owner=f"owner {number}")
    found = await memory.recall("deep well", limit=100)
    assert len(found) == 31
    assert "2 grants were left out: a recall looks at 31 at most." in found.notes


@pytest.mark.parametrize(
    "narrow",
    [{"channel": "work"}, {"channels": ["work"]}, {"statuses": ["superseded"]}, {"min_confidence": 0.9}],
)
async def test_meaning_finds_the_few_that_pass_a_filter_among_many_that_are_nearer(
    memory: AsyncMemory, narrow: dict[str, Any]
) -> None:
    """Memories that do not pass the filter must not take the places of those that do."""
    near = [{"content": f"harbour pilot boat {number}", "confidence": 0.5} for number in range(300)]
    await memory.retain(near, channel="home")
    wanted = await memory.retain("boat", channel="work" if "channel" in str(narrow) else "home")
    if "statuses" in narrow:
        await memory.memories.supersede(wanted.memory_ids[0], "harbour pilot boat of a new kind")
    options = {"channel": "home", **narrow}
    found = await memory.recall("harbour pilot boat", techniques=["vector"], refuse_below=0, **options)
    assert contents(found) == ["boat"]


async def test_a_model_that_takes_long_keeps_no_connection_from_others(
    open_with: OpenWith, shared_database: Database
) -> None:
    engine = Unsteady()
    memory = await open_with(embedder=engine)
    await memory.retain(FACTS)

    def all_are_free() -> bool:
        pool = shared_database.pool_statistics()
        return pool["pool_available"] == pool["pool_size"]

    async def outlast_the_transaction() -> None:
        while all_are_free():  # noqa: ASYNC110
            await asyncio.sleep(0)  # It is about to begin, and a pool tells nobody.
        await wait_for(all_are_free, what="the transaction to end while the model still works")

    engine.meanwhile = outlast_the_transaction
    async with asyncio.timeout(60):
        found = await memory.recall("tractor", explain=True)
    assert contents(found)[0] == FACTS[1]
    assert "vector" in explained(found.hits[0]).found_by
