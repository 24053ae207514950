"""How requests of the Chat Completions API are read and rewritten."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.proxy.chat.api import ChatApi
from mnemic.proxy.protocol import Body, Changes, Compaction, Exchange, Unsure
from tests.proxy.chat.streams import MEMORY, TOOL, call, check_pairs, request, stream, take_turn, user

TALK = [
    {"role": "system", "content": "Be brief."},
    user("Fix it."),
    {"role": "assistant", "content": "Reading.", "tool_calls": [call("call_1")]},
    {"role": "tool", "tool_call_id": "call_1", "content": "import os\n"},
]


def result(call_id: str, content: Any = "x") -> Body:
    """The result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def test_entries_hold_words_calls_and_results() -> None:
    conversation = ChatApi().read(request(TALK, prompt_cache_key="session-1"))
    entries = conversation.entries
    assert [entry.role for entry in entries] == ["user", "assistant", "call", "result"]
    assert entries[-1].key == "call_1"
    assert entries[-1].is_pageable
    assert entries[-1].tool == "read"
    assert entries[-1].arguments == {"path": "a.py"}
    assert conversation.tool_names == {"read"}
    assert conversation.is_streamed
    assert not conversation.at_user_turn
    assert conversation.client_session == "session-1"
    assert conversation.fixed_chars > len("Be brief.")


def test_keys_stay_the_same_when_the_conversation_grows() -> None:
    said = [user("again"), {"role": "assistant", "content": "ok"}, user("again")]
    first = ChatApi().read(request(said)).entries
    later = ChatApi().read(request([*said, {"role": "assistant", "content": "ok"}, user("again")])).entries
    assert [entry.key for entry in later[: len(first)]] == [entry.key for entry in first]
    assert len({entry.key for entry in later}) == len(later)


def test_root_tells_conversations_apart() -> None:
    def root(*messages: Body) -> bytes:
        return ChatApi().read(request(messages)).root

    assert root(user("a"), {"role": "assistant", "content": "x"}, user("b")) == root(user(" a\n"))
    assert root(user("a")) != root(user("b"))
    assert root(user("environment"), user("a")) != root(user("environment"), user("b"))


def test_only_results_of_text_are_pageable() -> None:
    text: list[Body] = [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b", "cache_control": {"type": "x"}},
    ]
    image = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    for content, is_pageable in (("a", True), (text, True), (image, False), (None, False), ([], False)):
        talk = [*TALK[:3], result("call_1", content)]
        entry = ChatApi().read(request(talk)).entries[-1]
        assert entry.is_pageable == is_pageable, content
        sent = ChatApi().rewrite(request(talk), Changes(replaced={"call_1": "short"}))["messages"][-1]
        if content is text:
            assert sent["content"] == [{**text[1], "text": "short"}]
        else:
            assert sent["content"] == ("short" if is_pageable else content)


def test_failures_are_recognised_by_their_text() -> None:
    for text, is_error in (
        ("Error: no such file", True),
        ("Exit code: 1\nOutput:", True),
        ("Process exited with code 127", True),
        ("Exit code: 0\nOutput:\nerror handling is fine", False),
        ("def error(): ...", False),
    ):
        entry = ChatApi().read(request([*TALK[:3], result("call_1", text)])).entries[-1]
        assert entry.is_error == is_error, text


@pytest.mark.parametrize(
    "change",
    [
        {"tools": [], "messages": [user("A title, please.")]},
        {"tools": "read"},
        {"n": 2},
        {"functions": [{"name": "f"}]},
        {"modalities": ["text", "audio"]},
        {"messages": []},
        {"messages": "hi"},
        {"messages": [user("hi"), {"role": "function", "name": "f", "content": "x"}]},
        {"messages": [user("hi"), {"role": "critic", "content": "x"}]},
        {"messages": [user("hi"), {"role": "assistant", "content": "so"}]},
        {"messages": TALK[:3]},
        {"messages": [user("hi"), result("call_1")]},
        {"messages": [*TALK, *TALK[2:]]},
        {"messages": [user("hi"), {"role": "assistant", "tool_calls": "x"}, user("x")]},
        {"tools": ["read"]},
    ],
)
def test_unknown_requests_are_not_touched(change: Body) -> None:
    with pytest.raises(Unsure):
        ChatApi().read({**request(TALK), **change})


def test_summaries_of_a_conversation_repeat_what_was_shortened() -> None:
    body = {**request([*TALK, user("Summarise.")]), "tools": None}
    with pytest.raises(Compaction) as raised:
        ChatApi().read(body)
    changes = Changes(tools=(MEMORY,), replaced={"call_1": "short"})
    assert raised.value.needs_rewriting(changes)
    assert not raised.value.needs_rewriting(Changes(tools=(MEMORY,)))
    sent = ChatApi().rewrite(body, changes)
    assert sent["tools"] is None
    assert sent["messages"][3]["content"] == "short"


def test_custom_tools_and_unknown_parts_are_kept() -> None:
    custom: Body = {"id": "call_c", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    video: Body = {
        "role": "user",
        "content": [{"type": "video_url", "video_url": {}}, {"type": "text", "text": "a"}],
    }
    talk: list[Body] = [
        video,
        {"role": "assistant", "content": None, "tool_calls": [custom]},
        result("call_c"),
    ]
    body = request(talk, tools=[TOOL, {"type": "custom", "custom": {"name": "patch"}}])
    conversation = ChatApi().read(body)
    assert conversation.tool_names == {"read", "patch"}
    assert conversation.entries[1].tool == "patch"
    assert conversation.entries[1].text == "*** Begin"
    assert ChatApi().rewrite(body, Changes()) == body


def test_rewriting_offers_tools_and_leaves_the_given_body_alone() -> None:
    body = request(TALK, unknown={"x": 1.0})
    before = copy.deepcopy(body)
    sent = ChatApi().rewrite(body, Changes(tools=(MEMORY,), replaced={"call_1": "short"}, opening="Known: x"))
    assert body == before
    assert sent["tools"][0] == TOOL
    assert sent["tools"][1]["function"]["name"] == "memory_query"
    assert sent["unknown"] == {"x": 1.0}
    check_pairs(sent["messages"])


def test_opening_follows_the_first_words_of_the_user() -> None:
    sent = ChatApi().rewrite(request(TALK), Changes(opening="Known: x"))["messages"]
    assert [message["role"] for message in sent[:4]] == ["system", "user", "assistant", "tool"]
    assert sent[2]["tool_calls"][0]["function"]["name"] == "recall"
    assert sent[3]["content"] == "Known: x"
    later = [*TALK, {"role": "assistant", "content": "Done."}, user("next")]
    assert ChatApi().rewrite(request(later), Changes(opening="Known: x"))["messages"][: len(sent)] == sent


def test_turn_after_the_opening_is_recognised_again() -> None:
    hidden = [stream("", [call("call_m", "memory_query", "{}")]), stream("In a.py.")]
    opening = Changes(tools=(MEMORY,), opening="Known: x")
    turn = take_turn(request([user("hi")]), hidden, changes=opening)
    assert turn.exchange is not None
    changes = Changes(exchanges={turn.exchange.key: turn.exchange}, tools=(MEMORY,), opening="Known: x")
    sent = ChatApi().rewrite(request([user("hi"), turn.message, user("next")]), changes)["messages"]
    assert sent[: len(turn.sent[1]["messages"])] == turn.sent[1]["messages"]


def test_repeated_text_gets_its_hidden_calls_once() -> None:
    hidden = [stream("", [call("call_m", "memory_query", "{}")]), stream("Done.")]
    turn = take_turn(request([user("a"), {"role": "assistant", "content": "Done."}, user("b")]), hidden)
    assert turn.exchange is not None
    said = {"role": "assistant", "content": "Done."}
    talk = [user("a"), said, user("b"), turn.message, user("b"), said, user("c")]
    changes = Changes(exchanges={turn.exchange.key: turn.exchange})
    sent = ChatApi().rewrite(request(talk), changes)["messages"]
    check_pairs(sent)
    assert sent[1] == said
    assert "tool_calls" in sent[3]


words = st.text("ab \n", max_size=6)
turns = st.lists(
    st.tuples(
        words, st.lists(st.lists(st.sampled_from(["read", "memory_query", "recall"]), max_size=4), max_size=3)
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None, max_examples=80)
@given(turns, st.integers(1, 9), st.booleans(), st.integers(1, 4))
def test_calls_and_results_stay_paired_in_any_conversation(
    plan: list[tuple[str, list[list[str]]]], size: int, opened: bool, rounds_max: int
) -> None:
    """A client talks through the relay; what the provider gets is valid, and only grows."""
    talk: list[Body] = []
    exchanges: dict[str, Exchange] = {}
    before: list[Body] = []
    number = 0
    for said, steps in plan:
        talk.append(user(f"{said}?"))
        replies = [[f"call_{number + n}_{i}_{name}" for i, name in enumerate(s)] for n, s in enumerate(steps)]
        number += len(steps) + 1
        pending = [
            stream(said, [call(one, one.split("_", 3)[3], "{}") for one in ids], size=size) for ids in replies
        ]
        pending.append(stream("End.", size=size))
        while pending:
            changes = Changes(
                exchanges=exchanges,
                tools=(MEMORY,),
                opening="Known." if opened else None,
                replaced={m["tool_call_id"]: "short" for m in talk if m["role"] == "tool"},
            )
            turn = take_turn(request(talk), pending, changes=changes, rounds_max=rounds_max)
            pending = pending[len(turn.rounds) :]
            assert turn.sent[0]["messages"][: len(before)] == before
            before = turn.sent[-1]["messages"]
            if turn.exchange is not None:
                exchanges[turn.exchange.key] = turn.exchange
            if turn.message["content"] is None and "tool_calls" not in turn.message:
                # A client drops a turn that says nothing, and the provider's transcript with it.
                before = []
                break
            talk.append(turn.message)
            theirs = turn.message.get("tool_calls", [])
            talk += [result(one["id"]) for one in theirs]
            if not theirs:
                break
