"""Conversational filler is removed from queries."""

import pytest

from mnemic.recall.query_filler import remove_function_words, strip_filler
from mnemic.sdk.memory import AsyncMemory

WRAPPED = {
    "Can you list the order in which I brought up different parts of my garden throughout our conversations,"
    " in order? Mention ONLY and ONLY five items.": "my garden?",
    "Could you please give me a detailed summary of how my garden has grown?": "how my garden has grown?",
    "I wanted to follow up on our previous chat about gardens. Can you remind me of the best tool?": (
        "gardens. the best tool?"
    ),
    "Give me a short overview of our last conversation about taxes. Answer in two sentences.": "taxes.",
    "What tool did I mention I bought?": "What tool I bought?",
    "Can you recommend some books?": "books?",
    "Would it be a good idea to plant beans? Any tips?": "plant beans?",
    "Tell me about my dog": "my dog",
    "Keep it short. Where do I live?": "Where do I live?",
}
PLAIN = (
    "What did Caroline say about the garden?",
    "How does John describe the book that Maria gave him?",
    "the list of plants in my garden",
    "Which order did the waiter bring?",
    "My session with the therapist",
    "The bed that I covered with mulch while I was checking the oven",
    "Wo habe ich  den Garten erwähnt?",
    "",
)
NOTHING_ELSE = ("Can you explain?", "What have we discussed?", "Any advice?", "summarize our chats")


@pytest.mark.parametrize("query", WRAPPED)
def test_words_about_the_conversation_and_the_answer_are_removed(query: str) -> None:
    assert strip_filler(query) == WRAPPED[query]


@pytest.mark.parametrize("query", PLAIN)
def test_a_query_without_filler_stays_as_it_is(query: str) -> None:
    assert strip_filler(query) == query


@pytest.mark.parametrize("query", NOTHING_ELSE)
def test_a_query_of_filler_alone_stays_as_it_is(query: str) -> None:
    assert strip_filler(query) == query


def test_function_words_are_removed_but_a_month_is_not() -> None:
    looked_up = remove_function_words("How many books would I've read in May?")
    assert " ".join(looked_up.split()) == "How books I read in May?"
    assert remove_function_words("vitamin D") == "vitamin D"
    assert remove_function_words("would") == "would"


async def test_filler_does_not_change_the_hits(memory: AsyncMemory) -> None:
    await memory.retain_many(["My garden has a pond.", "The tax office wrote a letter."], owner="ada")
    plain = await memory.recall("my garden?", owner="ada")
    wrapped = await memory.recall(
        "Can you list the order in which I brought up different parts of my garden across our conversations?"
        " Mention only ten items.",
        owner="ada",
    )
    assert [hit.memory.content for hit in plain][:1] == ["My garden has a pond."]
    assert [hit.memory.memory_id for hit in wrapped] == [hit.memory.memory_id for hit in plain]
    assert wrapped.confidence == plain.confidence
