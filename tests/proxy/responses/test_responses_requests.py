"""How requests of the Responses API are read and rewritten."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.proxy.protocol import Body, Changes, Compaction, Exchange, Unsure
from mnemic.proxy.responses.api import ResponsesApi
from mnemic.proxy.responses.stored import StoredResponse, response_of_path
from tests.proxy.responses.streams import (
    HIDDEN,
    MEMORY,
    TOOL,
    call,
    check_items,
    input_of,
    output,
    reasoned,
    request,
    response,
    said,
    take_turn,
    user,
)

TALK = [
    {"type": "message", "role": "developer", "content": "Be brief."},
    user("Fix it."),
    reasoned(),
    said("Reading."),
    call("call_1"),
    output("call_1", "import os\n"),
]
MEMORY_CALL = call("call_m", "memory_query", "{}")


def test_entries_hold_words_calls_and_results() -> None:
    conversation = ResponsesApi().read(request(TALK, instructions="Help.", prompt_cache_key="session-1"))
    entries = conversation.entries
    assert [entry.role for entry in entries] == ["user", "assistant", "call", "result"]
    assert entries[-1].key == "call_1"
    assert entries[-1].is_pageable
    assert entries[-1].arguments == {"path": "a.py"}
    assert conversation.tool_names == {"read"}
    assert conversation.client_session == "session-1"
    assert conversation.previous_id == ""
    assert not conversation.at_user_turn
    assert conversation.fixed_chars > len("Be brief.Help.")


def test_input_may_be_a_string() -> None:
    conversation = ResponsesApi().read(request("hi"))
    assert conversation.at_user_turn
    assert conversation.root == ResponsesApi().read(request([user("hi")])).root
    assert ResponsesApi().rewrite(request("hi"), Changes()) == request("hi")
    opened = ResponsesApi().rewrite(request("hi"), Changes(opening="Known: x"))["input"]
    assert opened[0] == {"role": "user", "content": "hi"}
    assert opened[2]["output"] == "Known: x"


def test_names_of_tools_in_namespaces_and_added_ones_are_known() -> None:
    namespace = {"type": "namespace", "name": "notes", "tools": [{"type": "function", "name": "recall"}]}
    added = {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "patch"}]}
    body = request([user("hi"), added], tools=[TOOL, namespace, {"type": "web_search"}])
    assert ResponsesApi().read(body).tool_names == {"read", "notes", "recall", "web_search", "patch"}


def test_only_function_results_of_text_are_pageable() -> None:
    text = [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]
    image = [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:"}]
    for content, is_pageable in (("a", True), (text, True), (image, False), ([], False)):
        body = request([*TALK[:5], output("call_1", content)])
        assert ResponsesApi().read(body).entries[-1].is_pageable == is_pageable, content
        sent = ResponsesApi().rewrite(body, Changes(replaced={"call_1": "short"}))["input"][-1]["output"]
        short: Any = [{"type": "input_text", "text": "short"}] if content is text else "short"
        assert sent == (short if is_pageable else content)


def test_other_calls_are_kept_as_they_are() -> None:
    pairs: list[Body] = [
        {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "***"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
        {"type": "local_shell_call", "call_id": "c2", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "local_shell_call_output", "call_id": "c2", "output": "{}"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"},
    ]
    body = request([user("hi"), *pairs, user("so?")])
    entries = ResponsesApi().read(body).entries
    assert [entry.tool for entry in entries if entry.role == "call"] == ["patch", "local_shell"]
    assert not any(entry.is_pageable for entry in entries)
    replaced = Changes(replaced={"c1": "short", "c2": "short"})
    assert ResponsesApi().rewrite(body, replaced) == body


@pytest.mark.parametrize(
    "change",
    [
        {"tools": [], "input": "A title, please."},
        {"tools": "read"},
        {"tools": ["read"]},
        {"input": []},
        {"input": None},
        {"input": ["hi"]},
        {"background": True},
        {"conversation": "conv_1"},
        {"prompt": {"id": "pmpt_1"}},
        {"input": [user("hi"), {"type": "program", "code": "1"}]},
        {"input": [{"role": "critic", "content": "x"}]},
        {"input": TALK[:5]},
        {"input": [user("hi"), said("so")]},
        {"input": [user("hi"), output("call_1")]},
        {"input": [*TALK, call("call_1"), output("call_1")]},
        {"input": [*TALK, output("call_1")]},
    ],
)
def test_unknown_requests_are_not_touched(change: Body) -> None:
    with pytest.raises(Unsure):
        ResponsesApi().read({**request(TALK), **change})


def test_summaries_of_a_conversation_repeat_what_was_sent() -> None:
    hidden = [[reasoned("rs_1"), MEMORY_CALL], [reasoned("rs_2"), call("call_1")]]
    turn = take_turn(request([user("hi")]), hidden)
    assert turn.exchange is not None
    talk = [user("hi"), *turn.items, output("call_1")]
    changes = Changes(exchanges={turn.exchange.key: turn.exchange}, tools=(MEMORY,))
    by_client = request([*talk, user("Summarise.")], tools=None)
    by_provider = request([*talk, {"type": "compaction_trigger"}])
    for body in (by_client, by_provider):
        with pytest.raises(Compaction) as raised:
            ResponsesApi().read(body)
        assert raised.value.conversation.root == ResponsesApi().read(request(talk)).root
        assert raised.value.needs_rewriting(changes)
        sent = ResponsesApi().rewrite(body, changes)
        assert sent["input"][: len(turn.sent[1]["input"])] == turn.sent[1]["input"]
        assert ("tools" in sent) == ("tools" in body)


def test_rewriting_leaves_the_given_body_alone() -> None:
    body = request(TALK, unknown={"x": 1.0})
    before = copy.deepcopy(body)
    changes = Changes(tools=(MEMORY,), replaced={"call_1": "short"}, opening="Known: x")
    sent = ResponsesApi().rewrite(body, changes)
    assert body == before
    assert sent["unknown"] == {"x": 1.0}
    assert sent["tools"][0] == TOOL
    check_items(sent["input"])
    # The call of the opening has no id: the provider would look for the reasoning before it.
    assert sent["input"][1] == TALK[1]
    assert sent["input"][2]["name"] == "recall"
    assert "id" not in sent["input"][2]
    later = [*TALK, said("Done."), user("next")]
    again = ResponsesApi().rewrite(request(later), changes)["input"]
    assert again[: len(sent["input"])] == sent["input"]


def test_previous_response_id_goes_to_the_last_response_of_the_turn() -> None:
    first = request("hi", store=None)
    replies = [[reasoned("rs_1", encrypted=False), MEMORY_CALL], [said("In a.py.")]]
    turn = take_turn(first, replies, changes=Changes(tools=(MEMORY,), opening="Known: x"))
    assert turn.end["response"]["id"] == "resp_1"
    assert [ended.response_id for ended in turn.rounds] == ["resp_1", "resp_1"]
    assert turn.exchange is not None
    assert turn.exchange.response_ids == {"resp_1": "resp_2"}
    later = request("thanks", store=None, previous_response_id="resp_1")
    assert ResponsesApi().read(later).previous_id == "resp_1"
    changes = Changes(exchanges={turn.exchange.key: turn.exchange}, tools=(MEMORY,), opening="Known: x")
    sent = ResponsesApi().rewrite(later, changes)
    assert sent["previous_response_id"] == "resp_2"
    assert input_of(sent) == [user("thanks")]


def test_hidden_results_follow_a_mixed_turn_with_previous_response_id() -> None:
    turn = take_turn(request("hi", store=None), [[MEMORY_CALL, call("call_1")]])
    assert turn.exchange is not None
    changes = Changes(exchanges={turn.exchange.key: turn.exchange})
    later = request([output("call_1")], store=None, previous_response_id="resp_1")
    entry = ResponsesApi().read(later).entries[0]
    assert entry.key == "call_1"
    assert not entry.is_pageable
    sent = ResponsesApi().rewrite(later, changes)
    assert sent["input"] == [output("call_m", "memory of call_m"), output("call_1")]
    assert sent["previous_response_id"] == "resp_1"


def test_unanswered_hidden_calls_get_a_result_with_previous_response_id() -> None:
    turn = take_turn(request("hi", store=None), [[MEMORY_CALL]], rounds_max=1)
    assert turn.exchange is not None
    changes = Changes(exchanges={turn.exchange.key: turn.exchange})
    later = request("so?", store=None, previous_response_id="resp_1")
    sent = ResponsesApi().rewrite(later, changes)["input"]
    check_items([MEMORY_CALL, *sent])


def test_stored_turns_are_found_by_their_id_or_their_text() -> None:
    first = request("hi", store=None)
    plain = take_turn(first, [[said("Hello.")]])
    assert plain.exchange is not None
    assert plain.exchange == Exchange("response:resp_1", [], [], {"resp_1": "resp_1"})
    grown = request([user("hi"), said("Hello."), user("so?")], store=None)
    assert take_turn(grown, [[said("Well.")]]).exchange is None
    hidden = take_turn(first, [[MEMORY_CALL], [said("In a.py.")]])
    assert hidden.exchange is not None
    kept = {"role": "assistant", "content": "In a.py."}
    changes = Changes(exchanges={one.key: one for one in (plain.exchange, hidden.exchange)})
    sent = ResponsesApi().rewrite(request([user("hi"), kept, user("so?")], store=None), changes)["input"]
    check_items(sent)
    assert sent[1] == MEMORY_CALL


def test_nothing_is_stored_for_clients_that_keep_the_conversation() -> None:
    turn = take_turn(request("hi"), [[MEMORY_CALL], [said("In a.py.")]])
    assert turn.rounds[-1].response_id == ""
    assert turn.exchange is not None
    assert turn.exchange.response_ids == {}


def test_stored_responses_are_found_and_shown_by_the_clients_id() -> None:
    assert response_of_path(b"/v1/responses/resp_1") == "resp_1"
    assert response_of_path(b"/v1/responses/resp_1/input_items") == "resp_1"
    assert response_of_path(b"/v1/responses/compact") is None
    assert response_of_path(b"/v1/responses") is None
    turn = take_turn(request("hi", store=None), [[reasoned(), MEMORY_CALL], [said("In a.py.")]])
    assert turn.exchange is not None
    stored = StoredResponse("resp_1", turn.exchange, HIDDEN)
    assert stored.path(b"/v1/responses/resp_1") == b"/v1/responses/resp_2"
    assert stored.path(b"/v1/responses/resp_1/cancel") == b"/v1/responses/resp_2/cancel"
    shown = stored.shown(response([said("In a.py.")], "resp_2", body=turn.sent[0]))
    assert shown["id"] == "resp_1"
    assert shown["output"] == [reasoned(), said("In a.py.")]
    assert [tool["name"] for tool in shown["tools"]] == ["read"]
    assert stored.shown({"id": "resp_2", "deleted": True}) == {"id": "resp_1", "deleted": True}
    assert stored.shown({"object": "list"}) == {"object": "list"}


steps = st.lists(
    st.tuples(
        st.booleans(),
        st.booleans(),
        st.lists(st.sampled_from(["read", "memory_query", "recall"]), max_size=3),
    ),
    max_size=4,
)
plans = st.lists(st.tuples(st.text("ab ", max_size=3), steps), min_size=1, max_size=4)


@settings(deadline=None, max_examples=80)
@given(plans, st.sampled_from(["whole", "no ids", "calls only"]), st.booleans(), st.integers(1, 4))
def test_calls_and_outputs_stay_paired_in_any_conversation(
    plan: list[tuple[str, list[tuple[bool, bool, list[str]]]]], keeps: str, opened: bool, rounds_max: int
) -> None:
    """A client talks through the relay; what the provider gets is valid, and only grows."""
    talk: list[Body] = []
    exchanges: dict[str, Exchange] = {}
    before: list[Body] = []
    number = 0
    for words, made in plan:
        talk.append(user(f"{words}?"))
        pending = []
        for reasons, speaks, tools in made:
            number += 1
            items = [call(f"call_{number}_{i}", name, "{}") for i, name in enumerate(tools)]
            if speaks or not items:
                items = [said(f"{words}.", f"msg_{number}"), *items]
            pending.append([reasoned(f"rs_{number}"), *items] if reasons else items)
        number += 1
        pending.append([said("End.", f"msg_{number}")])
        while pending:
            changes = Changes(
                exchanges=exchanges,
                tools=(MEMORY,),
                opening="Known." if opened else None,
                replaced={one["call_id"]: "short" for one in talk if one["type"] == "function_call_output"},
            )
            turn = take_turn(request(list(talk)), pending, changes=changes, rounds_max=rounds_max)
            pending = pending[len(turn.rounds) :]
            if keeps == "whole":
                assert turn.sent[0]["input"][: len(before)] == before
            # A turn that shows nothing leaves no trace at the client, and none in later requests.
            before = turn.sent[-1]["input"] if turn.items else []
            if turn.exchange is not None:
                exchanges[turn.exchange.key] = turn.exchange
            theirs = [one for one in turn.items if one["type"] == "function_call"]
            talk += _kept(turn.items, keeps)
            talk += [output(one["call_id"]) for one in theirs]
            if not theirs:
                break


def _kept(items: list[Body], keeps: str) -> list[Body]:
    """What different clients keep of a response."""
    if keeps == "calls only":
        return [item for item in items if item["type"] != "reasoning"]
    if keeps == "no ids":
        return [{name: value for name, value in item.items() if name != "id"} for item in items]
    return items
