"""Unusual queries are answered, or rejected with a clear error, also on an empty memory."""

import pytest

from mnemic.errors import InvalidInputError
from mnemic.recall.request import QUERY_MAX_CHARACTERS
from mnemic.sdk.memory import AsyncMemory
from mnemic.types.recalled import Recalled
from tests.fresh_tenants import OpenMemory

KNOWN = "The lighthouse keeper drinks tea 🦊 東京"
ODD = {
    "stop words": "what is the of and to it",
    "punctuation": "?!… --- ;;; ''' \"\"\" ()[]{} <> @#$%^&*",
    "one character": "?",
    "emoji": "🦊👩🏽‍🚀🏳️‍🌈",
    "Chinese": "東京はどこですか 北京在哪里",
    "Arabic": "أين يقع المنزل؟",
    "Thai": "บ้านอยู่ที่ไหน",
    "combining characters": "e\u0301\u0301\u0301\u0327" * 50,
    "right to left marks": "\u202elighthouse\u202c \u200f\u200e\ufeff",
    "an end of SQL": "'; DROP TABLE state.memories; --",
    "SQL in dollars": "$$; SELECT pg_terminate_backend(pg_backend_pid()); $mnemic$",
    "placeholders": "%s %(owner)s {owner} $1 :name ?",
    "operators of tsquery": "a & | ! lighthouse:*A <-> <2> (tea",
    "an unfinished tsquery": "lighthouse & (",
    "backslashes": "\\ \\\\ \\' '\\ lighthouse\\' \\x00 \\0",
    "quotes": '\' \'\' " "" """ \'lighthouse\' "lighthouse" “lighthouse” „tea“ «tea»',
    "quoted stop words": '"the of and" "to be or not to be"',
    "quoted tsquery": '"a & | !" "lighthouse <-> keeper"',
    "a million years": "in 99999999 years, on 9999-12-31, 0000-00-00, last 123456789 days, since 1e400",
    "an address": "https://user:secret@example.org:99999/a?b=c&d=%00#e",
    "an e-mail with a quote": "o'brien+tea@example.org",
    "a very long word": "lighthouse" * 390,
    "a word of one letter": "l" * 3_999,
    "500 different words": " ".join(f"word{number}" for number in range(500)),
    "500 times a word": "lighthouse " * 350,
    "nested quotes": '"' * 1_000,
    "white space": "\t\n\r\v\f lighthouse \u2003\u00a0\u3000",
    "control characters": "".join(map(chr, range(1, 32))) + " lighthouse \x7f\x85",
    "the last character": "\U0010ffff\uffff",
}


async def ask(memory: AsyncMemory, query: str) -> Recalled:
    found = await memory.recall(query, explain=True, include=["neighbours", "entities"])
    assert found.query == query[:QUERY_MAX_CHARACTERS]
    assert found.refused == (not found.hits)
    unrefused = await memory.recall(query, refuse_below=0, limit=1000)
    assert {hit.memory.owner for hit in unrefused} <= {"alice"}
    return found


async def test_an_odd_query_is_answered_on_an_empty_memory(
    memory: AsyncMemory, subtests: pytest.Subtests
) -> None:
    for name, query in ODD.items():
        with subtests.test(name):
            assert (await ask(memory, query)).refused


async def test_an_odd_query_is_answered_on_a_full_memory(
    open_memory: OpenMemory, subtests: pytest.Subtests
) -> None:
    for name, query in ODD.items():
        with subtests.test(name):
            memory = await open_memory()
            await memory.retain([KNOWN, query, "something else"])
            await memory.retain(["a turn", query], conversation="odd")
            await ask(memory, query)
            assert len(await memory.memories.list()) >= 4, "nothing was lost"


@pytest.mark.parametrize(
    "query",
    ["operators of tsquery", "an unfinished tsquery", "backslashes", "quotes", "white space"],
)
async def test_a_word_between_odd_characters_is_found(memory: AsyncMemory, query: str) -> None:
    await memory.retain([KNOWN, "something else"])
    found = await memory.recall(ODD[query], techniques=["text"], refuse_below=0)
    assert [hit.memory.content for hit in found] == [KNOWN]


async def test_other_scripts_are_found_by_the_embedding_of_their_words(memory: AsyncMemory) -> None:
    await memory.retain([KNOWN, "something else entirely"])
    found = await memory.recall("東京", refuse_below=0)
    assert found[0].memory.content == KNOWN


@pytest.mark.parametrize("query", ["", " ", "\t\n\u2003"])
async def test_a_blank_query_is_an_error(memory: AsyncMemory, query: str) -> None:
    with pytest.raises(InvalidInputError, match=r"query must not be empty\."):
        await memory.recall(query)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("tea\0time", "query must not contain NUL"),
        ("tea \ud800 time", "query is not valid Unicode at character 4"),
        (None, "query must be text, not NoneType"),
        (b"tea", "query must be text, not bytes"),
        (["tea"], "query must be text, not list"),
    ],
)
async def test_a_query_that_is_not_a_text_is_an_error(
    memory: AsyncMemory, query: object, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        await memory.recall(query)  # type: ignore[arg-type]


async def test_a_long_query_is_truncated_with_a_note(memory: AsyncMemory) -> None:
    await memory.retain([KNOWN, "something else"])
    query = "lighthouse keeper " + "x " * 50_000 + "else"
    found = await memory.recall(query, explain=True)
    assert found.notes == (
        f"The query has {len(query):,} characters; the first {QUERY_MAX_CHARACTERS:,} were searched with.",
    )
    assert found.query == query[:QUERY_MAX_CHARACTERS]
    assert found[0].memory.content == KNOWN
    assert all(hit.explain is not None and "els" not in hit.explain.words for hit in found)


async def test_a_query_that_is_just_short_enough_is_not_truncated(memory: AsyncMemory) -> None:
    assert (await memory.recall("x" * QUERY_MAX_CHARACTERS)).notes == ()
    assert len((await memory.recall("x" * (QUERY_MAX_CHARACTERS + 1))).notes) == 1


async def test_a_query_of_megabytes_is_an_error(memory: AsyncMemory) -> None:
    with pytest.raises(InvalidInputError, match="query has 1,000,001 characters"):
        await memory.recall("x" * 1_000_001)
