"""What a client of the Responses API sees of hidden calls: nothing."""

import json

from mnemic.proxy.protocol import Changes, ServerSentEvent
from mnemic.proxy.responses.api import ResponsesApi
from tests.proxy.responses.streams import (
    HIDDEN,
    MEMORY,
    call,
    check_items,
    event,
    events_of,
    output,
    reasoned,
    request,
    response,
    said,
    stream,
    take_turn,
    user,
)

MEMORY_CALL = call("call_m", "memory_query", '{"question":"where?"}')


def test_stream_without_anything_hidden_passes_as_the_same_bytes() -> None:
    body = request([user("hi")])
    events = stream([reasoned(), said("Reading."), call("call_1")], body=body)
    relay = ResponsesApi().relay(body, HIDDEN)
    raw = b"".join(relay.feed(one) for one in events)
    ended = relay.end_round()
    assert raw + relay.finish() == b"".join(one.raw for one in events)
    assert relay.exchange({}) is None
    assert ended.text == "Reading."
    assert ended.client_calls == (("call_1", "read", {"path": "a.py"}),)
    assert (ended.prompt_tokens, ended.cached_tokens, ended.output_tokens) == (100, 64, 10)


def test_hidden_tools_are_not_listed_in_responses() -> None:
    seen = take_turn(request([user("hi")]), [[said("Hello.")]])
    responses = [one["response"] for one in seen.events if "response" in one]
    assert len(responses) == 3
    for one in responses:
        assert [tool["name"] for tool in one["tools"]] == ["read"]
    assert [tool["name"] for tool in seen.sent[0]["tools"]] == ["read", "memory_query", "recall"]
    assert seen.exchange is None


def test_hidden_calls_are_answered_within_one_response() -> None:
    replies = [
        [reasoned("rs_1"), MEMORY_CALL],
        [reasoned("rs_2"), said("Once more.", "msg_1"), call("call_m2", "recall", "{}")],
        [reasoned("rs_3"), said("In a.py.", "msg_2")],
    ]
    seen = take_turn(request([user("hi")]), replies)
    assert [one["id"] for one in seen.items] == ["rs_1", "rs_2", "msg_1", "rs_3", "msg_2"]
    assert b"memory_query" not in seen.raw
    indexes = [one["output_index"] for one in seen.events if one["type"] == "response.output_item.done"]
    assert indexes == [0, 1, 2, 3, 4]
    ended = seen.end["response"]
    assert ended["id"] == "resp_1"
    assert ended["output"] == seen.items
    assert ended["usage"]["input_tokens"] == 100
    assert (ended["usage"]["output_tokens"], ended["usage"]["total_tokens"]) == (30, 130)
    assert sum(one["type"] == "response.created" for one in seen.events) == 1
    assert seen.rounds[0].hidden[0].arguments == {"question": "where?"}


def test_hidden_turn_is_inserted_again_however_the_client_keeps_it() -> None:
    replies = [[reasoned("rs_1"), MEMORY_CALL], [reasoned("rs_2"), said("In a.py.")]]
    turn = take_turn(request([user("hi")]), replies)
    assert turn.exchange is not None
    changes = Changes(exchanges={turn.exchange.key: turn.exchange}, tools=(MEMORY,))
    whole = turn.items
    plain = {"role": "assistant", "content": "In a.py. "}
    for kept in (
        whole,
        [{name: value for name, value in item.items() if name != "id"} for item in whole],
        [whole[-1]],
        [plain],
        [{"type": "item_reference", "id": item["id"]} for item in whole],
    ):
        sent = ResponsesApi().rewrite(request([user("hi"), *kept, user("thanks")]), changes)["input"]
        assert sent == [*turn.sent[1]["input"], *replies[1], user("thanks")], kept
        check_items(sent)


def test_mixed_turns_end_the_clients_turn_and_keep_hidden_results() -> None:
    for calls in ([MEMORY_CALL, call("call_1")], [call("call_1"), MEMORY_CALL, call("call_2")]):
        theirs = [one for one in calls if one is not MEMORY_CALL]
        turn = take_turn(request([user("hi")]), [[reasoned(), *calls]])
        assert turn.items == [reasoned(), *theirs]
        assert turn.end["response"]["output"] == turn.items
        assert turn.exchange is not None
        changes = Changes(exchanges={turn.exchange.key: turn.exchange})
        outputs = [output(one["call_id"]) for one in theirs]
        hidden = output("call_m", "memory of call_m")
        sent = ResponsesApi().rewrite(request([user("hi"), *turn.items, *outputs]), changes)["input"]
        assert sent == [user("hi"), reasoned(), *calls, hidden, *outputs]
        # Some clients put each output behind its call.
        pairs = [item for one in theirs for item in (one, output(one["call_id"]))]
        sent = ResponsesApi().rewrite(request([user("hi"), reasoned(), *pairs]), changes)["input"]
        assert sent == [user("hi"), reasoned(), *calls, hidden, *outputs]


def test_endless_hidden_calls_end_as_a_turn_without_calls() -> None:
    replies = [[reasoned(f"rs_{n}"), call(f"call_m{n}", "memory_query", "{}")] for n in range(5)]
    turn = take_turn(request([user("hi")]), replies, rounds_max=3)
    assert len(turn.rounds) == 3
    assert [one["type"] for one in turn.end["response"]["output"]] == [*["reasoning"] * 3, "message"]
    assert turn.exchange is not None
    changes = Changes(exchanges={turn.exchange.key: turn.exchange})
    check_items(ResponsesApi().rewrite(request([user("hi"), *turn.items, user("so?")]), changes)["input"])


def test_cut_hidden_call_and_its_reasoning_are_not_sent_back() -> None:
    cut = {**call("call_m", "memory_query", '{"quest'), "status": "incomplete"}
    body = ResponsesApi().rewrite(request([user("hi")]), Changes(tools=(MEMORY,)))
    relay = ResponsesApi().relay(body, HIDDEN)
    for one in stream([reasoned(), cut], body=body, status="incomplete"):
        relay.feed(one)
    ended = relay.end_round()
    assert ended.hidden == ()
    assert ended.is_complete
    exchange = relay.exchange({})
    assert json.loads(relay.finish().split(b"data: ")[1])["response"]["status"] == "incomplete"
    assert exchange is not None
    changes = Changes(exchanges={exchange.key: exchange})
    sent = ResponsesApi().rewrite(request([user("hi"), reasoned(), user("so?")]), changes)["input"]
    assert sent == [user("hi"), user("so?")]


def test_reasoning_that_nobody_can_send_back_is_left_out_with_the_ids() -> None:
    lost = reasoned(encrypted=False)
    turn = take_turn(request([user("hi")]), [[lost, MEMORY_CALL], [said("In a.py.")]])
    without_id = {name: value for name, value in MEMORY_CALL.items() if name != "id"}
    assert turn.sent[1]["input"][1:2] == [without_id]
    stored = take_turn(request([user("hi")], store=None), [[lost, MEMORY_CALL], [said("In a.py.")]])
    assert stored.sent[1]["input"][1:3] == [lost, MEMORY_CALL]


def test_items_are_taken_from_the_stream_if_the_end_leaves_them_out() -> None:
    body = request([user("hi")])
    relay = ResponsesApi().relay(body, HIDDEN)
    for one in stream([reasoned(), MEMORY_CALL], body=body, fills_output=False):
        relay.feed(one)
    assert [one.id for one in relay.end_round().hidden] == ["call_m"]
    sent = relay.continued({"call_m": "x"})
    assert sent["input"] == [user("hi"), reasoned(), MEMORY_CALL, output("call_m")]


def test_client_tools_of_a_namespace_and_custom_tools_are_the_clients() -> None:
    spaced = {**call("call_1", "recall"), "namespace": "notes"}
    custom = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_2", "name": "patch", "input": "***"}
    seen = take_turn(request([user("hi")]), [[spaced, custom]])
    assert seen.items == [spaced, custom]
    assert seen.rounds[0].client_calls == (
        ("call_1", "recall", {"path": "a.py"}),
        ("call_2", "patch", {"input": "***"}),
    )


def test_responses_that_are_not_streamed_hide_calls_too() -> None:
    body = ResponsesApi().rewrite(request("hi", stream=None), Changes(tools=(MEMORY,)))
    relay = ResponsesApi().relay(body, HIDDEN)
    relay.whole(response([reasoned(), MEMORY_CALL], body=body))
    assert [one.id for one in relay.end_round().hidden] == ["call_m"]
    sent = relay.continued({"call_m": "In a.py."})
    check_items(sent["input"])
    relay.whole(response([said("Both."), call("call_1"), call("call_m2", "recall")], "resp_2", body=body))
    assert relay.end_round().calls_client
    exchange = relay.exchange({"call_m2": "x"})
    shown = json.loads(relay.finish())
    assert exchange is not None
    assert exchange.key == "calls:call_1"
    assert shown["id"] == "resp_1"
    assert shown["output"] == [reasoned(), said("Both."), call("call_1")]
    assert [tool["name"] for tool in shown["tools"]] == ["read"]


def test_whole_response_without_anything_hidden_is_the_same_bytes() -> None:
    body = request([user("hi")], stream=None)
    for given in (response([said("Hello.")], body=body), {"object": "unknown"}):
        raw = json.dumps(given, indent=2).encode()
        relay = ResponsesApi().relay(body, HIDDEN)
        relay.whole(given, raw)
        relay.end_round()
        assert relay.finish() == raw


def test_cut_and_failed_streams_are_passed_on_as_they_came() -> None:
    body = request([user("hi")])
    events = stream([said("Some text.")], body=body)
    number = len(events) - 3
    error = event("error", code="server_error", message="overloaded", sequence_number=number)
    failed = event("response.failed", sequence_number=number, response={"id": "resp_1", "status": "failed"})
    for cut in (events[:-3], [*events[:-3], error], [*events[:-3], failed]):
        relay = ResponsesApi().relay(body, HIDDEN)
        raw = b"".join(relay.feed(one) for one in cut)
        ended = relay.end_round()
        assert not ended.is_complete
        assert relay.exchange({}) is None
        assert raw + relay.finish() == b"".join(one.raw for one in cut)


def test_comments_broken_json_and_unknown_events_are_passed_on() -> None:
    body = request([user("hi")])
    odd = [
        ServerSentEvent("", b"", b": keep alive\n\n"),
        ServerSentEvent("", b"{nothing", b"data: {nothing\n\n"),
        event("keepalive"),
        event("response.something.new", whatever=1.0),
    ]
    relay = ResponsesApi().relay(body, HIDDEN)
    assert [relay.feed(one) for one in odd] == [one.raw for one in odd]


def test_errors_after_the_start_are_numbered_events() -> None:
    body = request([user("hi")])
    relay = ResponsesApi().relay(body, HIDDEN)
    raw = b"".join(relay.feed(one) for one in stream([MEMORY_CALL], body=body))
    relay.end_round()
    relay.continued({"call_m": "x"})
    error = b'{"error": {"message": "slow down", "type": "rate_limit", "code": "rate_limit_exceeded"}}'
    events = events_of(raw + relay.fail(429, error))
    assert [one["type"] for one in events[-2:]] == ["error", "response.failed"]
    assert events[-2]["message"] == "slow down"
    assert events[-1]["response"]["error"] == {"code": "rate_limit_exceeded", "message": "slow down"}
    assert events[-1]["response"]["id"] == "resp_1"
