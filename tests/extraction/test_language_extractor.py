"""The extractor by a language model: one call for 20 turns, proposals only, and rules if it fails."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.test import TestModel

from mnemic.db.database import Database
from mnemic.errors import ConfigurationError, LanguageModelError, SpendCapError
from mnemic.extraction.checking import check_statements
from mnemic.extraction.fallback import extract_or_fall_back, open_extractor
from mnemic.extraction.language_extractor import (
    DOCUMENT_MAX_CHARACTERS,
    FACTS_ASKED_MAX,
    FACTS_MAX,
    INSTRUCTIONS,
    KNOWN_MAX,
    MACHINE_TURN_MAX_CHARACTERS,
    TURN_MAX_CHARACTERS,
    TURNS_MAX,
    LanguageExtractor,
    _Facts,
)
from mnemic.extraction.protocol import KnownStatement, ProposedStatement, SourceText
from mnemic.extraction.storing import SourceBatch, StoredStatements
from mnemic.models.language import open_language_model
from mnemic.runtime.core import Caller
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.scope import Scope
from tests.extraction.facts_model import NEVER, Document, FactsModel, fact
from tests.fresh_tenants import OpenMemory, Rows
from tests.opened import core_of

AT = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)
SCOPE = Scope("alice", "_global", "test")


def turn(text: str, role: str | None = "user", name: str | None = None) -> SourceText:
    return SourceText(uuid4(), text, role, name, AT, 0)


def extractor_of(model: Any, timeout_s: float = 60) -> LanguageExtractor:
    opened = open_language_model(model)
    assert opened is not None
    return LanguageExtractor(opened, timeout_s=timeout_s)


async def proposals_of(
    model: Any, *sources: SourceText, known: Sequence[KnownStatement] = ()
) -> Sequence[ProposedStatement]:
    return await extractor_of(model).extract(sources, known)


async def test_a_fact_becomes_a_proposal() -> None:
    known = KnownStatement(uuid4(), "The user lives in Bath.", "The user", "lives_in", "Bath")
    source = turn("Actually, since February I live in Oslo with Ben.")
    given = fact(
        1,
        "since February I live in Oslo",
        value="Oslo",
        attribute="Lives in",
        statement="The user  lives in Oslo.",
        category="Factual",
        valid_from="2026-02-01",
        replaces=1,
        entities=["Oslo", "Ben", "Oslo", ""],
    )
    (proposal,) = await proposals_of(FactsModel([given]), source, known=[known])
    assert proposal == ProposedStatement(
        source.memory_id,
        "since February I live in Oslo",
        "The user lives in Oslo.",
        "The user",
        "lives_in",
        "Oslo",
        valid_from=datetime(2026, 2, 1, tzinfo=UTC),
        is_correction=True,
        replaces=known.memory_id,
        entities=("Oslo", "Ben"),
    )
    assert check_statements([proposal], [source], [known], instructions=INSTRUCTIONS).rejected == ()


async def test_the_model_reads_numbered_turns_known_statements_and_names() -> None:
    model = FactsModel([])
    known = KnownStatement(uuid4(), "Ana likes tea.", "Ana", "likes", "tea")
    await proposals_of(model, turn("Hi", "user", "Ana"), turn("Hello", "assistant"), known=[known])
    (document,) = model.documents
    assert document["turns"] == [
        {"number": 1, "role": "user", "name": "Ana", "time": "2026-03-01T10:30+00:00", "text": "Hi"},
        {"number": 2, "role": "assistant", "text": "Hello"},
    ]
    assert document["known"] == [{"number": 1, "statement": "Ana likes tea.", "attribute": "likes"}]
    assert document["names"] == ["Ana"]
    assert model.tasks == [INSTRUCTIONS]


async def test_the_time_is_given_where_the_hour_changes() -> None:
    model = FactsModel([])
    minutes = (0, 20, 30, 45, 24 * 60)
    sources = [replace(turn("Hi"), at=AT + timedelta(minutes=each)) for each in minutes]
    await proposals_of(model, *sources, replace(turn("Hi"), at=None))
    times = [each.get("time") for each in model.documents[0]["turns"]]
    assert times == [
        "2026-03-01T10:30+00:00",
        None,
        "2026-03-01T11:00+00:00",
        None,
        "2026-03-02T10:30+00:00",
        None,
    ]


async def test_the_words_of_machines_are_cut_to_their_beginning_and_end() -> None:
    model = FactsModel([])
    long = "".join(f"<{number:03}>" for number in range(500))
    await proposals_of(model, *(turn(long, role) for role in ("user", "assistant", "tool", "ana")))
    user, assistant, tool, named = (each["text"] for each in model.documents[0]["turns"])
    assert user == long
    assert (assistant, tool) == (named, named), "a role that nobody knows is a machine's"
    assert len(assistant) <= MACHINE_TURN_MAX_CHARACTERS + len(" […] ")
    assert assistant.startswith("<000><001>")
    assert assistant.endswith("<498><499>")


async def test_a_subject_is_given_where_the_statement_does_not_begin_with_it() -> None:
    model = FactsModel([])
    known = KnownStatement(uuid4(), "Tea is what Ana likes.", "Ana", "likes", "tea")
    await proposals_of(model, turn("Hi"), known=[known])
    assert model.documents[0]["known"][0]["subject"] == "Ana"


def test_the_schema_states_a_number_of_facts_and_longer_answers_are_valid() -> None:
    schema = _Facts.model_json_schema()
    assert schema["properties"]["facts"]["maxItems"] == FACTS_ASKED_MAX
    facts = [fact(1, "I live in Oslo")] * (FACTS_ASKED_MAX + 1)
    assert len(_Facts.model_validate({"facts": facts}).facts) > FACTS_ASKED_MAX


async def test_20_turns_take_one_call() -> None:
    def reply(document: Document) -> list[dict[str, Any]]:
        return [fact(each["number"], each["text"]) for each in document["turns"]]

    model = FactsModel(reply)
    sources = [turn(f"I live in Town{number}") for number in range(100)]
    proposals = await proposals_of(model, *sources)
    assert [len(document["turns"]) for document in model.documents] == [TURNS_MAX] * 5
    assert [each.source_id for each in proposals] == [source.memory_id for source in sources]
    assert [each.value for each in proposals] == [f"Town{number}" for number in range(100)]


async def test_a_call_is_bounded_whatever_the_turns_are() -> None:
    model = FactsModel([])
    known = [KnownStatement(uuid4(), "word " * 999, "S" * 200, "likes", "x") for _ in range(99)]
    long = ['"\\' * 50_000, "ä" * 100_000, "\0\ud800\x1b" * 9_000, "\n" * 9_000]
    await proposals_of(model, *(turn(text) for text in long * 8), known=known)
    for document in model.documents:
        assert len(document["turns"]) <= TURNS_MAX
        assert len(document["known"]) == KNOWN_MAX
        assert all(len(each["text"]) <= TURN_MAX_CHARACTERS for each in document["turns"])
        assert len(str(document["turns"])) <= 2 * DOCUMENT_MAX_CHARACTERS
    assert sum(len(document["turns"]) for document in model.documents) == len(long) * 8
    assert model.documents[0]["turns"][2]["text"] == ""


async def test_pronouns_become_the_speaker() -> None:
    for subject, source, expected in (
        ("I", turn("x y z"), "The user"),
        ("user", turn("x y z", "user", "Ana"), "Ana"),
        ("My sister", turn("x y z"), "The user's sister"),
        ("the speaker", turn("x y z", None, "Ben"), "Ben"),
        ("I", turn("x y z", "assistant"), "I"),
        ("Oslo", turn("x y z"), "Oslo"),
    ):
        model = FactsModel([fact(1, "x y z", subject=subject)])
        (proposal,) = await proposals_of(model, source)
        assert proposal.subject == expected


async def test_odd_fields_are_repaired_or_left_to_the_checks(subtests: pytest.Subtests) -> None:
    source = turn("I live in Oslo")
    for fields, changed in (
        ({"category": "gossip", "certainty": "95 %", "tense": "?"}, {"certainty": "uncertain"}),
        ({"valid_from": "last spring", "valid_to": ""}, {}),
        ({"valid_from": "99999-01-01"}, {}),
        ({"valid_from": "0001-01-01T00:00+14:00"}, {}),
        ({"replaces": 0}, {}),
        ({"replaces": 7}, {"replaces": UUID(int=0), "is_correction": True}),
        ({"replaces": -1}, {"replaces": UUID(int=0), "is_correction": True}),
    ):
        with subtests.test(str(fields)):
            model = FactsModel([fact(1, "I live in Oslo", **fields)])
            (proposal,) = await proposals_of(model, source)
            plain = ProposedStatement(
                source.memory_id, "I live in Oslo", "The user lives in Oslo.", "The user", "lives_in", "Oslo"
            )
            assert proposal == replace(plain, **changed)


async def test_facts_about_turns_that_were_not_shown_are_ignored() -> None:
    model = FactsModel([fact(number, "I live in Oslo") for number in (0, -1, 2, 10**9, 1)])
    assert len(await proposals_of(model, turn("I live in Oslo"))) == 1


async def test_a_wrong_number_of_a_turn_is_corrected_by_the_quotation() -> None:
    sources = [turn("Hello there"), turn("I live in Oslo"), turn("I live in Bath"), turn("I live in Bath")]
    for number, quotation, expected in (
        (1, "I live in Oslo", 1),
        (2, "I live in  OSLO", 1),
        (4, "I live in Bath", 3),
        (1, "I live in Bath", 0),
        (1, "I live in Rome", 0),
        (1, "", 0),
    ):
        given = {**fact(number, "some words"), "quotation": quotation}
        (proposal,) = await proposals_of(FactsModel([given]), *sources)
        assert proposal.source_id == sources[expected].memory_id


async def test_a_huge_answer_is_cut() -> None:
    facts = [fact(1, "I live in Oslo", value="v" * 5_000, entities=["e"] * 50)] * 2 * FACTS_MAX
    proposals = await proposals_of(FactsModel(facts), turn("I live in Oslo"))
    assert len(proposals) == FACTS_MAX
    assert all(len(each.value) <= 2_048 and len(each.entities) <= 8 for each in proposals)


async def test_malformed_answers_are_a_language_model_error(subtests: pytest.Subtests) -> None:
    answers: tuple[Any, ...] = (
        "I could not find anything.",
        {"facts": "none"},
        {"facts": [{"turn": "one"}]},
        {"facts": [["turn", 1]]},
        {"answer": []},
        {"facts": None},
        ModelHTTPError(500, "scripted"),
        ValueError("broken"),
    )
    for answer in answers:
        with subtests.test(str(answer)), pytest.raises(LanguageModelError):
            await proposals_of(FactsModel(answer), turn("I live in Oslo"))


async def test_statements_that_repeat_the_instructions_are_rejected() -> None:
    source = turn("I live in Oslo")
    line = INSTRUCTIONS.splitlines()[0]
    for fields in ({"statement": line}, {"value": f"Oslo. {line}"}, {"subject": line[:200]}):
        model = FactsModel([fact(1, "I live in Oslo", **fields)])
        proposals = await proposals_of(model, source)
        (rejected,) = check_statements(proposals, [source], instructions=INSTRUCTIONS).rejected
        assert rejected.reason in ("prompt text", "another subject")


async def test_values_must_have_been_said() -> None:
    source = turn("I live in Oslo and I love it")
    model = FactsModel([fact(1, "I live in Oslo", value="gambling debts", attribute="owes")])
    (rejected,) = check_statements(await proposals_of(model, source), [source]).rejected
    assert rejected.reason == "unsupported value"


class Rules:
    """Stands for the rules: proposes one fixed statement for each turn."""

    name = "rules-test"

    async def extract(
        self, sources: Sequence[SourceText], known: Sequence[KnownStatement]
    ) -> Sequence[ProposedStatement]:
        return [
            ProposedStatement(
                source.memory_id, source.text, "The user lives in Oslo.", "The user", "lives_in", "Oslo"
            )
            for source in sources
        ]


async def read_turn(memory: AsyncMemory, text: str = "I live in Oslo") -> StoredStatements:
    retained = await memory.retain({"role": "user", "content": text}, conversation="c")
    source = SourceText(retained.memory_ids[0], text, "user", None, AT, 0)
    core = core_of(memory)
    extractor = open_extractor(core, Rules())
    batch = SourceBatch(SCOPE, [source], "")
    return await extract_or_fall_back(Caller(core, SCOPE), extractor, Rules(), batch)


def readers(memory: AsyncMemory, rows: Rows) -> list[tuple[object, ...]]:
    statement = "SELECT extractor, statement_count FROM state.extraction_runs WHERE tenant_id = %s"
    return rows.select(statement, memory.tenant.id)


async def test_the_model_reads_and_marks_under_its_versioned_name(
    open_memory: OpenMemory, rows: Rows
) -> None:
    model = FactsModel([fact(1, "I live in Oslo")])
    memory = await open_memory(llm=model, settings={"extractor": "llm"})
    assert (await read_turn(memory)).stored_count == 1
    assert readers(memory, rows) == [("llm-3:function:scripted", 1)]
    (line,) = await memory.spend.summary()
    assert (line.purpose, line.call_count) == ("extraction", 1)
    assert rows.select(
        "SELECT quotation FROM state.statement_sources WHERE tenant_id = %s", memory.tenant.id
    ) == [("I live in Oslo",)]


async def test_rules_read_if_the_model_fails_is_slow_or_answers_nonsense(
    open_memory: OpenMemory, rows: Rows, subtests: pytest.Subtests
) -> None:
    for kind, model in (
        ("failing", FactsModel(ModelHTTPError(503, "scripted"))),
        ("nonsense", FactsModel("no")),
        ("slow", FactsModel(NEVER)),
    ):
        with subtests.test(kind):
            settings = {"extractor": "llm", "extraction_timeout_s": 0.2 if kind == "slow" else 60}
            memory = await open_memory(llm=model, settings=settings)
            assert (await read_turn(memory)).stored_count == 1
            assert readers(memory, rows) == [("rules-test", 1)]


async def test_each_call_commits_by_itself_and_rules_read_only_what_failed(
    open_memory: OpenMemory, rows: Rows
) -> None:
    """60 turns, three calls: the second fails."""

    def reply(document: Document) -> Any:
        texts = [each["text"] for each in document["turns"]]
        failed = any("Town25" in text for text in texts)
        return ModelHTTPError(503, "scripted") if failed else [fact(1, texts[0])]

    model = FactsModel(reply)
    memory = await open_memory(llm=model, settings={"extractor": "llm"})
    turns = [{"role": "user", "content": f"I live in Town{number}"} for number in range(60)]
    retained = await memory.retain(turns, conversation="c")
    sources = [
        SourceText(memory_id, str(turn["content"]), "user", None, AT, number)
        for number, (memory_id, turn) in enumerate(zip(retained.memory_ids, turns, strict=True))
    ]
    core = core_of(memory)
    batch = SourceBatch(SCOPE, sources, "")
    stored = await extract_or_fall_back(Caller(core, SCOPE), open_extractor(core, Rules()), Rules(), batch)
    assert not stored.already_read
    statement = (
        "SELECT extractor, count(*) FROM state.extraction_runs WHERE tenant_id = %s GROUP BY 1 ORDER BY 1"
    )
    assert rows.select(statement, memory.tenant.id) == [("llm-3:function:scripted", 40), ("rules-test", 20)]
    assert len(model.documents) == 3


async def test_an_empty_answer_is_an_answer(open_memory: OpenMemory, rows: Rows) -> None:
    memory = await open_memory(llm=FactsModel([]), settings={"extractor": "llm"})
    assert (await read_turn(memory)).stored_count == 0
    assert readers(memory, rows) == [("llm-3:function:scripted", 0)]


async def test_a_spend_cap_reaches_the_job(open_memory: OpenMemory, rows: Rows) -> None:
    model = FactsModel([fact(1, "I live in Oslo")])
    memory = await open_memory(llm=model, owner="alice", settings={"extractor": "llm"})
    tenant = memory._in_scope(Scope(None, "_global", "test"))
    await tenant.spend.set_cap(0)
    with pytest.raises(SpendCapError):
        await read_turn(memory)
    assert (readers(memory, rows), model.documents) == ([], [])


async def test_the_settings_choose_the_extractor(open_memory: OpenMemory, shared_database: Database) -> None:
    rules = Rules()
    assert open_extractor(core_of(await open_memory(llm=TestModel())), rules) is rules
    with pytest.raises(ConfigurationError, match="needs an LLM"):
        open_extractor(core_of(await open_memory(settings={"extractor": "llm"})), rules)
