"""Which conversations the proxy reads, and what the pager sees of them."""

import copy
from typing import Any

import pytest

from mnemic.proxy.anthropic.api import AnthropicApi
from mnemic.proxy.protocol import Body, Changes, Compaction, Unsure
from tests.proxy.anthropic.streams import TOOLS, assistant, call, request, result, thought, user

API = AnthropicApi()
IMAGE = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}


def test_entries_hold_the_prompt_in_order() -> None:
    body = request(
        user({"type": "text", "text": "<system-reminder>Today.</system-reminder>"}, "Fix it."),
        assistant(thought("Look first."), "I look.", call("a", path="x.py"), call("b", "Bash", command="ls")),
        user(result("b", "one\ntwo", is_error=True), result("a", [{"type": "text", "text": "code"}])),
        {"role": "system", "content": "Be brief."},
        assistant(call("c")),
        user(result("c", [{"type": "text", "text": "seen"}, IMAGE])),
        system=[{"type": "text", "text": "You help."}],
        metadata={"user_id": "user_1"},
        stream=True,
    )
    conversation = API.read(body)
    assert [(entry.role, entry.text, entry.tool, entry.is_pageable) for entry in conversation.entries] == [
        ("instructions", "You help.", "", False),
        ("user", "<system-reminder>Today.</system-reminder>", "", False),
        ("user", "Fix it.", "", False),
        ("assistant", "Look first.", "", False),
        ("assistant", "I look.", "", False),
        ("call", '{"path":"x.py"}', "Read", False),
        ("call", '{"command":"ls"}', "Bash", False),
        ("result", "one\ntwo", "Bash", True),
        ("result", "code", "Read", True),
        ("instructions", "Be brief.", "", False),
        ("call", "{}", "Read", False),
        ("result", "seen", "Read", False),
    ]
    results = [entry for entry in conversation.entries if entry.role == "result"]
    assert [(entry.key, entry.is_error) for entry in results] == [("b", True), ("a", False), ("c", False)]
    assert results[1].arguments == {"path": "x.py"}
    assert len({entry.key for entry in conversation.entries}) == len(conversation.entries)
    assert conversation.tool_names == {"Read", "Bash"}
    assert conversation.client_session == "user_1"
    assert conversation.is_streamed
    assert conversation.has_thinking
    assert not conversation.at_user_turn
    assert conversation.fixed_chars > len("You help.")


def test_keys_and_root_stay_the_same_in_later_requests() -> None:
    messages = [user("Fix it."), assistant("Same.", call("a")), user(result("a")), assistant("Same.")]
    first = API.read(request(messages[0]))
    last = API.read(request(*messages, user("Fix it.")))
    assert last.entries[: len(first.entries)] == first.entries
    assert len({entry.key for entry in last.entries}) == len(last.entries)
    assert first.root == last.root
    assert first.at_user_turn
    assert last.at_user_turn
    other = API.read(request(user("Do another thing.")))
    assert other.root != first.root


def test_root_ignores_what_a_client_adds_when_it_resumes() -> None:
    one = request(user({"type": "text", "text": "<system-reminder>Monday</system-reminder>"}, "Fix it."))
    two = request(user({"type": "text", "text": "<system-reminder>Friday</system-reminder>"}, "Fix it. "))
    assert API.read(one).root == API.read(two).root


def test_unknown_conversations_are_not_touched() -> None:
    good = [user("Go."), assistant(call("a")), user(result("a"))]
    cases: dict[str, dict[str, Any]] = {
        "no tools": {"tools": []},
        "tools are missing": {"tools": None},
        "only tools of the provider": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        "no messages": {"messages": []},
        "messages are no list": {"messages": "x"},
        "message is no object": {"messages": ["x"]},
        "unknown role": {"messages": [*good, {"role": "tool", "content": "x"}, user("x")]},
        "content is a number": {"messages": [{"role": "user", "content": 1}]},
        "block is no object": {"messages": [{"role": "user", "content": ["x"]}]},
        "block without type": {"messages": [user({"text": "x"})]},
        "text is a number": {"messages": [user({"type": "text", "text": 1})]},
        "prefilled answer": {"messages": [*good, assistant("The")]},
        "assistant begins": {"messages": [assistant("Hi."), user("Go.")]},
        "duplicate call": {"messages": [*good, assistant(call("a")), user(result("a"))]},
        "duplicate call in one turn": {
            "messages": [good[0], assistant(call("a"), call("a")), user(result("a"))]
        },
        "duplicate result": {"messages": [*good[:2], user(result("a"), result("a"))]},
        "missing result": {"messages": [good[0], assistant(call("a"), call("b")), user(result("a"))]},
        "no results": {"messages": [*good[:2], user("Go on.")]},
        "result without call": {"messages": [*good, user(result("z"))]},
        "call without id": {
            "messages": [good[0], assistant({"type": "tool_use", "name": "Read"}), user("x")]
        },
        "odd id": {"messages": [good[0], assistant(call("a\0b")), user(result("a\0b"))]},
        "call of the user": {"messages": [user(call("a"))]},
        "unknown kind of result": {
            "messages": [user("Go."), user({"type": "new_result", "tool_use_id": "a"})]
        },
    }
    for name, fields in cases.items():
        body = {**request(*good), **fields}
        before = copy.deepcopy(body)
        assert _is_unsure(body), name
        assert body == before


def _is_unsure(body: Body) -> bool:
    try:
        API.read(body)
    except Unsure:
        return True
    return False


def test_unknown_blocks_that_pair_with_nothing_are_read() -> None:
    unknown = {"type": "container_upload", "file_id": "f"}
    search = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srv", "content": []}
    body = request(user("Go.", unknown, IMAGE), assistant(search, found, "Found."), user("On."), tools=TOOLS)
    assert [entry.text for entry in API.read(body).entries] == ["Go.", "Found.", "On."]


def test_results_may_be_spread_over_messages_that_follow_each_other() -> None:
    body = request(user("Go."), assistant(call("a"), call("b")), user(result("a")), user(result("b"), "And?"))
    assert [entry.key for entry in API.read(body).entries if entry.role == "result"] == ["a", "b"]


def test_compaction_request_is_recognised() -> None:
    ask = user("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nSummarise.")
    with pytest.raises(Compaction) as raised:
        API.read(request(user("Go."), assistant("Done."), ask))
    assert not raised.value.needs_rewriting(Changes())
    assert raised.value.needs_rewriting(Changes(replaced={"a": "short"}))
    with pytest.raises(Compaction) as raised:
        API.read(
            request(user("Go."), assistant(call("a")), user(result("a")), assistant(thought("x"), "D."), ask)
        )
    assert raised.value.needs_rewriting(Changes())
    quoted = user("Respond with TEXT ONLY was in the log.")
    conversation = API.read(request(quoted, assistant("Yes."), user("Explain it.")))
    assert conversation.at_user_turn
