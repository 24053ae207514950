"""Responses of the provider become one response of the client."""

import json
from dataclasses import replace

from mnemic.proxy.anthropic.api import AnthropicApi
from mnemic.proxy.anthropic.relay import AnthropicRelay
from mnemic.proxy.protocol import Body, Changes, Exchange
from tests.proxy.anthropic.streams import (
    HIDDEN,
    HIDDEN_NAMES,
    assembled,
    assistant,
    call,
    event,
    events,
    feed,
    parse,
    query,
    request,
    result,
    thought,
    user,
)

API = AnthropicApi()


def opened_relay() -> AnthropicRelay:
    """A relay of the first request of a conversation."""
    return API.relay(API.rewrite(request(user("Go.")), Changes(tools=HIDDEN)), HIDDEN_NAMES)


def test_response_without_hidden_calls_passes_byte_for_byte() -> None:
    server_tool = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
    stream = events(thought("Hm."), "Hello.", server_tool, found, call("a"))
    stream.insert(3, event("new_event", anything=1.0))
    relay = opened_relay()
    shown, ended = feed(relay, stream)
    assert relay.exchange({}) is None
    assert shown + relay.finish() == b"".join(each.raw for each in stream)
    assert ended.text == "Hello."
    assert ended.client_calls == (("a", "Read", {}),)
    assert (ended.prompt_tokens, ended.cached_tokens, ended.output_tokens) == (100, 90, 7)
    assert ended.is_complete


def test_hidden_only_round_continues_within_one_message() -> None:
    relay = opened_relay()
    first, ended = feed(relay, events(thought("I ask."), "Let me see.", query("h1"), query("h2", "when?")))
    assert [(hidden.id, hidden.arguments) for hidden in ended.hidden] == [
        ("h1", {"question": "why?"}),
        ("h2", {"question": "when?"}),
    ]
    assert not ended.calls_client
    body = relay.continued({"h1": "because", "h2": "then"})
    assert body["messages"][1:] == [
        assistant(thought("I ask."), "Let me see.", query("h1"), query("h2", "when?")),
        user(result("h1", "because"), result("h2", "then")),
    ]
    second, _ = feed(relay, events(thought("I read."), call("a", path="x"), usage={"input_tokens": 50}))
    exchange = relay.exchange({})
    message = assembled(first + second + relay.finish())
    assert message["content"] == [
        thought("I ask."),
        *assistant("Let me see.")["content"],
        thought("I read."),
        call("a", path="x"),
    ]
    assert message["stop_reason"] == "tool_use"
    assert message["usage"]["input_tokens"] == 50
    assert message["usage"]["output_tokens"] == 14
    assert message["is_complete"]
    assert exchange is not None
    assert exchange.items == [*body["messages"][1:], assistant(thought("I read."), call("a", path="x"))]
    assert exchange.results == []


def test_mixed_turn_hides_the_call_and_owes_its_result() -> None:
    for parts in ([query("h"), call("a")], [call("a"), query("h")], [call("a"), query("h"), call("b")]):
        relay = opened_relay()
        shown, ended = feed(relay, events("Both.", *parts))
        assert ended.calls_client
        exchange = relay.exchange({"h": "answer"})
        message = assembled(shown + relay.finish())
        assert (
            message["content"]
            == assistant("Both.", *(part for part in parts if part["name"] == "Read"))["content"]
        )
        assert message["stop_reason"] == "tool_use"
        assert exchange is not None
        assert exchange.items == [assistant("Both.", *parts)]
        assert exchange.results == [result("h", "answer")]


def test_capped_turn_ends_properly_and_is_recognised() -> None:
    relay = opened_relay()
    shown, _ = feed(relay, events(query("h1")))
    relay.continued({"h1": "one"})
    more, ended = feed(relay, events(query("h2")))
    assert ended.hidden
    exchange = relay.exchange({"h2": "two"})
    message = assembled(shown + more + relay.finish())
    assert message["stop_reason"] == "end_turn"
    assert len(message["content"]) == 1
    assert exchange is not None
    turn = assistant(message["content"][0]["text"])
    later = API.rewrite(request(user("Go."), turn, user("On.")), Changes(exchanges={exchange.key: exchange}))
    assert later["messages"] == [
        user("Go."),
        assistant(query("h1")),
        user(result("h1", "one")),
        assistant(query("h2")),
        user(result("h2", "two"), "On."),
    ]


def test_text_of_several_rounds_is_recognised_however_the_client_joins_it() -> None:
    relay = opened_relay()
    feed(relay, events("Let me ask. ", query("h1")))
    relay.continued({"h1": "one"})
    feed(relay, events("It is so.\n"))
    exchange = relay.exchange({})
    assert exchange is not None
    for turn in (
        assistant("Let me ask.", "It is so."),
        {"role": "assistant", "content": "Let me ask.\nIt is so."},
    ):
        later = API.rewrite(
            request(user("Go."), turn, user("On.")), Changes(exchanges={exchange.key: exchange})
        )
        assert len(later["messages"]) == 5


def test_same_text_at_another_place_is_another_turn() -> None:
    relay = opened_relay()
    feed(relay, events(query("h1")))
    relay.continued({"h1": "one"})
    feed(relay, events("Done."))
    exchange = relay.exchange({})
    assert exchange is not None
    body = request(user("Go."), assistant("Done."), user("On."), assistant("Done."), user("More."))
    later = API.rewrite(body, Changes(exchanges={exchange.key: exchange}))
    assert [message["role"] for message in later["messages"]].count("assistant") == 3


def test_place_is_the_same_after_earlier_exchanges_and_an_opening() -> None:
    changes = Changes(tools=HIDDEN, opening="- Likes tea.")
    exchanges: dict[str, Exchange] = {}
    messages = [user("One.")]
    for number, prompt in enumerate(("Two.", "Three.", "Four.")):
        body = API.rewrite(request(*messages), replace(changes, exchanges=exchanges))
        relay = API.relay(body, HIDDEN_NAMES)
        shown, _ = feed(relay, events(query(f"h{number}a")))
        relay.continued({})
        more, _ = feed(relay, events("Same.", query(f"h{number}b")))
        exchange = relay.exchange({f"h{number}b": "x"})
        assert exchange is not None
        exchanges[exchange.key] = exchange
        message = assembled(shown + more + relay.finish())
        messages += [{"role": "assistant", "content": message["content"]}, user(prompt)]
    body = API.rewrite(request(*messages), replace(changes, exchanges=exchanges))
    hidden = [
        block["id"]
        for sent in body["messages"]
        if sent["role"] == "assistant"
        for block in sent["content"]
        if block["type"] == "tool_use"
    ]
    assert hidden == ["toolu_mnemic_opening", "h0a", "h0b", "h1a", "h1b", "h2a", "h2b"]


def test_half_a_call_is_neither_answered_nor_stored() -> None:
    relay = opened_relay()
    stream = events("Long.", query("h"), stop="max_tokens")
    del stream[-4]
    shown, ended = feed(relay, stream)
    assert not ended.hidden
    assert relay.exchange({}) is None
    message = assembled(shown + relay.finish())
    assert message["stop_reason"] == "max_tokens"
    assert message["content"] == assistant("Long.")["content"]


def test_truncated_stream_is_not_complete() -> None:
    stream = events("Hello.", call("a"))
    for length in range(1, len(stream)):
        relay = opened_relay()
        shown, ended = feed(relay, stream[:length])
        assert not ended.is_complete
        assert not ended.hidden
        assert shown + relay.finish() == b"".join(each.raw for each in stream[:length])


def test_error_event_passes_verbatim() -> None:
    error = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    stream = [*events("Hello.")[:4], error]
    relay = opened_relay()
    shown, ended = feed(relay, stream)
    assert shown == b"".join(each.raw for each in stream)
    assert not ended.is_complete


def test_error_after_the_stream_began_is_an_event() -> None:
    body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    relay = opened_relay()
    assert relay.fail(529, body) == b"event: error\ndata: " + body + b"\n\n"
    for unusable in (b"<html>", b"", b"[]"):
        (data,) = parse(relay.fail(502, unusable))
        assert data["error"]["type"] == "api_error"
    (data,) = parse(relay.fail(529, json.dumps(json.loads(body), indent=1).encode()))
    assert data["error"]["message"] == "Overloaded"


def test_whole_response_passes_or_is_merged() -> None:
    def whole(content: list[Body], **fields: object) -> Body:
        usage = {"input_tokens": 3, "output_tokens": 2}
        return {
            "id": "m1",
            "type": "message",
            "content": content,
            "stop_reason": "end_turn",
            "usage": usage,
            **fields,
        }

    relay = opened_relay()
    body = whole(assistant("Hi.")["content"])
    relay.whole(body, b'{"id": "m1" }')
    relay.end_round()
    assert relay.exchange({}) is None
    assert relay.finish() == b'{"id": "m1" }'

    relay = opened_relay()
    relay.whole(whole([query("h")], stop_reason="tool_use"), b"{}")
    assert relay.end_round().hidden[0].arguments == {"question": "why?"}
    relay.continued({"h": "x"})
    relay.whole(whole(assistant("Hi.", call("a"))["content"], id="m2", stop_reason="tool_use"), b"{}")
    assert relay.end_round().calls_client
    exchange = relay.exchange({})
    assert exchange is not None
    assert exchange.items == [assistant(query("h")), user(result("h", "x")), assistant("Hi.", call("a"))]
    message = json.loads(relay.finish())
    assert message["id"] == "m1"
    assert message["content"] == assistant("Hi.", call("a"))["content"]
    assert message["usage"] == {"input_tokens": 3, "output_tokens": 4}
    assert list(message) == list(body)


def test_missing_answer_still_gives_each_call_a_result() -> None:
    relay = opened_relay()
    feed(relay, events(query("h1"), query("h2")))
    body = relay.continued({"h1": ""})
    assert [block["tool_use_id"] for block in body["messages"][-1]["content"]] == ["h1", "h2"]
    assert all(block["content"] for block in body["messages"][-1]["content"])
