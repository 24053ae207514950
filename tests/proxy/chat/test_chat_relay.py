"""What a client of the Chat Completions API sees of hidden calls: nothing."""

import json

import pytest

from mnemic.proxy.chat.api import ChatApi
from mnemic.proxy.protocol import Body, ServerSentEvent
from tests.proxy.chat.streams import (
    DONE,
    HIDDEN,
    call,
    check_pairs,
    chunk,
    chunks_of,
    event,
    request,
    stream,
    take_turn,
    user,
    whole,
)

MEMORY_CALL = call("call_m", "memory_query", '{"question": "where?"}')


def test_stream_without_hidden_calls_passes_as_the_same_bytes() -> None:
    events = stream("Reading the file.", [call("call_1"), call("call_2")], usage={"prompt_tokens": 9})
    seen = take_turn(request([user("hi")]), [events])
    assert seen.raw == b"".join(one.raw for one in events)
    assert seen.exchange is None
    assert seen.rounds[0].text == "Reading the file."
    assert [one[0] for one in seen.rounds[0].client_calls] == ["call_1", "call_2"]


def test_hidden_calls_are_answered_within_one_response() -> None:
    responses = [
        stream("Let me see.", [MEMORY_CALL]),
        stream("", [call("call_m2", "recall", "{}")], chunk_id="chatcmpl-2"),
        stream("It is in a.py.", chunk_id="chatcmpl-3"),
    ]
    seen = take_turn(request([user("hi")]), responses)
    assert seen.message == {"role": "assistant", "content": "Let me see.\n\nIt is in a.py."}
    assert {one["id"] for one in seen.chunks} == {"chatcmpl-1"}
    assert seen.finish_reasons == ["stop"]
    assert sum("role" in one["choices"][0]["delta"] for one in seen.chunks) == 1
    assert b"memory_query" not in seen.raw
    assert seen.raw.endswith(DONE.raw)
    assert [ended.hidden[0].name for ended in seen.rounds[:2]] == ["memory_query", "recall"]
    assert seen.rounds[0].hidden[0].arguments == {"question": "where?"}


def test_hidden_turn_is_inserted_again_into_the_next_request() -> None:
    first = request([user("hi")])
    turn = take_turn(first, [stream("Let me see.", [MEMORY_CALL]), stream("In a.py.")])
    assert turn.exchange is not None
    later = request([user("hi"), turn.message, user("thanks")])
    again = take_turn(later, [stream("Welcome.")], exchanges={turn.exchange.key: turn.exchange})
    sent = again.sent[0]["messages"]
    assert sent[: len(turn.sent[1]["messages"])] == turn.sent[1]["messages"]
    assert sent[-2:] == [{"role": "assistant", "content": "In a.py."}, user("thanks")]


def test_mixed_turns_end_the_clients_turn_and_keep_hidden_results() -> None:
    for calls in ([MEMORY_CALL, call("call_1")], [call("call_1"), MEMORY_CALL, call("call_2")]):
        theirs = [one for one in calls if one is not MEMORY_CALL]
        turn = take_turn(request([user("hi")]), [stream("Both.", calls)])
        assert turn.message["tool_calls"] == theirs
        assert turn.finish_reasons == ["tool_calls"]
        assert b"memory_query" not in turn.raw
        assert turn.exchange is not None
        results = [{"role": "tool", "tool_call_id": one["id"], "content": "x"} for one in theirs]
        later = request([user("hi"), turn.message, *results])
        again = take_turn(later, [stream("Done.")], exchanges={turn.exchange.key: turn.exchange})
        sent = again.sent[0]["messages"]
        assert sent[1] == {"role": "assistant", "content": "Both.", "tool_calls": calls}
        assert sent[2] == {"role": "tool", "tool_call_id": "call_m", "content": "memory of call_m"}
        assert sent[3:] == results


def test_endless_hidden_calls_end_as_a_turn_without_calls() -> None:
    responses = [stream("", [call(f"call_m{n}", "memory_query", "{}")]) for n in range(5)]
    seen = take_turn(request([user("hi")]), responses, rounds_max=3)
    assert len(seen.rounds) == 3
    assert seen.finish_reasons == ["stop"]
    assert seen.exchange is not None
    check_pairs([user("hi"), *seen.exchange.items, *seen.exchange.results, user("next")])


def test_name_of_a_hidden_tool_may_arrive_in_pieces() -> None:
    for name, is_hidden in (("memory_query", True), ("recall", True), ("recall_notes", False)):
        named = [{"id": "call_1", "function": {"name": ""}}]
        named += [{"function": {"name": letter}} for letter in name]
        named += [{"function": {"arguments": "{}"}}]
        events = [event(chunk({"tool_calls": [{"index": 0, **piece}]})) for piece in named]
        seen = take_turn(
            request([user("hi")]), [[*events, event(chunk({}, "tool_calls")), DONE], stream("Done.")]
        )
        assert bool(seen.rounds[0].hidden) == is_hidden, name
        shown = [one["function"]["name"] for one in seen.message.get("tool_calls", [])]
        assert shown == ([] if is_hidden else [name])


def test_calls_and_text_in_the_chunk_with_the_finish_reason_are_kept() -> None:
    hidden = {"index": 0, "id": "call_m", "function": {"name": "recall", "arguments": "{}"}}
    theirs = {"index": 1, "id": "call_1", "function": {"name": "read", "arguments": "{}"}}
    last = event(chunk({"role": "assistant", "content": "One moment.", "tool_calls": [hidden]}, "tool_calls"))
    seen = take_turn(request([user("hi")]), [[last, DONE], stream("Done.", chunk_id="chatcmpl-2")])
    assert seen.message == {"role": "assistant", "content": "One moment.\n\nDone."}
    assert seen.finish_reasons == ["stop"]
    mixed = event(chunk({"tool_calls": [hidden, theirs]}, "tool_calls"))
    seen = take_turn(request([user("hi")]), [[mixed, DONE]])
    assert [one["id"] for one in seen.message["tool_calls"]] == ["call_1"]
    assert seen.finish_reasons == ["tool_calls"]


def test_calls_that_share_an_index_are_told_apart_by_their_ids() -> None:
    """Some providers give every call of a response the index 0."""
    deltas = [
        {"tool_calls": [{"index": 0, "id": f"call_{n}", "function": {"name": "read", "arguments": "{}"}}]}
        for n in (1, 2)
    ]
    events = [event(chunk(delta)) for delta in deltas]
    seen = take_turn(request([user("hi")]), [[*events, event(chunk({}, "tool_calls")), DONE]])
    assert [one["id"] for one in seen.message["tool_calls"]] == ["call_1", "call_2"]


def test_fields_of_providers_come_back_to_them_and_pass_to_the_client() -> None:
    signed = {"id": "call_m", "type": "function", "extra_content": {"google": {"thought_signature": "s=="}}}
    deltas: list[Body] = [
        {"role": "assistant", "reasoning_content": "I should "},
        {"reasoning_content": "ask.", "reasoning_details": [{"index": 0, "text": "ask"}]},
        {"tool_calls": [{"index": 0, **signed, "function": {"name": "recall", "arguments": "{}"}}]},
    ]
    events = [event(chunk(delta)) for delta in deltas]
    seen = take_turn(
        request([user("hi")]), [[*events, event(chunk({}, "tool_calls")), DONE], stream("Done.")]
    )
    back = seen.sent[1]["messages"][1]
    assert back["reasoning_content"] == "I should ask."
    assert back["reasoning_details"] == [{"index": 0, "text": "ask"}]
    assert back["tool_calls"] == [{**signed, "function": {"name": "recall", "arguments": "{}"}}]
    assert seen.raw.startswith(b"".join(one.raw for one in events[:2]))


def test_usage_is_that_of_the_last_prompt_and_of_all_output() -> None:
    usages: list[Body] = [
        {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        {
            "prompt_tokens": 130,
            "completion_tokens": 5,
            "total_tokens": 135,
            "prompt_tokens_details": {"cached_tokens": 96},
        },
    ]
    body = request([user("hi")], stream_options={"include_usage": True})
    seen = take_turn(body, [stream("", [MEMORY_CALL], usage=usages[0]), stream("Done.", usage=usages[1])])
    shown = [one["usage"] for one in seen.chunks if one.get("usage")]
    assert shown == [{**usages[1], "completion_tokens": 15, "total_tokens": 145}]
    last = seen.rounds[1]
    assert (last.prompt_tokens, last.cached_tokens, last.output_tokens) == (130, 96, 5)
    assert seen.sent[0]["stream_options"] == {"include_usage": True}


def test_options_of_the_stream_are_never_added() -> None:
    seen = take_turn(request([user("hi")]), [stream("Done.")])
    assert "stream_options" not in seen.sent[0]
    assert seen.rounds[0].prompt_tokens == 0


def test_cut_and_failed_streams_are_passed_on_as_they_came() -> None:
    error = event({"error": {"message": "overloaded", "type": "server_error"}})
    for events in (stream("Some text.")[:4], [*stream("Some text.")[:4], error]):
        seen = take_turn(request([user("hi")]), [events])
        assert seen.raw == b"".join(one.raw for one in events)
        assert not seen.rounds[0].is_complete
        assert seen.exchange is None


def test_cut_hidden_call_is_not_answered() -> None:
    cut = call("call_m", "memory_query", '{"quest')
    seen = take_turn(request([user("hi")]), [stream("Text.", [cut], finish="length")])
    assert seen.rounds[0].hidden == ()
    assert seen.finish_reasons == ["length"]
    assert seen.message == {"role": "assistant", "content": "Text."}
    assert seen.exchange is None


def test_comments_unknown_chunks_and_broken_json_are_passed_on() -> None:
    comment = ServerSentEvent("", b"", b": processing\n\n")
    filters = event({"id": "", "choices": [], "prompt_filter_results": []})
    broken = ServerSentEvent("", b"{nothing", b"data: {nothing\n\n")
    half = event(chunk({"content": "\ud83d"}))
    events = [comment, filters, broken, half, *stream("Text.")]
    relay = ChatApi().relay(request([user("hi")]), HIDDEN)
    raw = b"".join(relay.feed(one) for one in events)
    relay.end_round()
    assert raw + relay.finish() == b"".join(one.raw for one in events)


def test_half_of_a_surrogate_pair_survives_a_later_round() -> None:
    relay = ChatApi().relay(request([user("hi")]), HIDDEN)
    for one in stream("", [MEMORY_CALL]):
        relay.feed(one)
    relay.end_round()
    relay.continued({"call_m": "x"})
    raw = relay.feed(event(chunk({"content": "\ud83d"})))
    assert chunks_of(raw)[0]["choices"][0]["delta"]["content"] == "\ud83d"


def test_whole_responses_hide_calls_too() -> None:
    relay = ChatApi().relay(request([user("hi")], stream=False), HIDDEN)
    relay.whole(whole("Let me see.", [MEMORY_CALL]))
    assert [one.id for one in relay.end_round().hidden] == ["call_m"]
    sent = relay.continued({"call_m": "In a.py."})
    check_pairs(sent["messages"])
    assert sent["messages"][1] == {"role": "assistant", "content": "Let me see.", "tool_calls": [MEMORY_CALL]}
    relay.whole(whole("Now both.", [call("call_1"), call("call_m2", "recall", "{}")], body_id="chatcmpl-2"))
    ended = relay.end_round()
    exchange = relay.exchange({"call_m2": "x"})
    shown = json.loads(relay.finish())
    assert ended.calls_client
    assert exchange is not None
    assert exchange.key == "calls:call_1"
    message = shown["choices"][0]["message"]
    assert shown["id"] == "chatcmpl-1"
    assert message["content"] == "Let me see.\n\nNow both."
    assert message["tool_calls"] == [call("call_1")]
    assert shown["usage"] == {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def test_whole_response_without_hidden_calls_is_not_changed() -> None:
    relay = ChatApi().relay(request([user("hi")], stream=False), HIDDEN)
    for body in (whole("Text.", [call("call_1")]), {"object": "unknown"}):
        relay.whole(body)
        relay.end_round()
        assert json.loads(relay.finish()) == body
        assert relay.exchange({}) is None


@pytest.mark.parametrize("body", [b'{"error": {"message": "slow down", "code": "x"}}', b"<html>502</html>"])
def test_errors_after_the_start_are_events(body: bytes) -> None:
    raw = ChatApi().relay(request([user("hi")]), HIDDEN).fail(429, body)
    assert raw.startswith(b"data: ")
    assert raw.endswith(b"\n\n")
    assert json.loads(raw[6:])["error"]["message"] in ("slow down", "<html>502</html>")


def test_errors_of_the_proxy_have_the_shape_of_openai() -> None:
    body = json.loads(ChatApi().error(413, "The body is too large."))
    assert body["error"]["message"] == "The body is too large."
    assert set(body["error"]) == {"message", "type", "param", "code"}
