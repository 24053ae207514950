"""The provider's body is made from the client's; everything else stays."""

import copy
import json

from mnemic.proxy.anthropic.api import AnthropicApi
from mnemic.proxy.anthropic.opening import OPENING_CALL_ID
from mnemic.proxy.protocol import Changes, Exchange
from tests.proxy.anthropic.streams import (
    HIDDEN,
    TOOLS,
    assistant,
    call,
    query,
    request,
    result,
    thought,
    user,
)

API = AnthropicApi()
MARKER = {"type": "ephemeral"}


def test_nothing_to_change_gives_the_same_json() -> None:
    text = (
        '{"zeta":1.0,"messages":[{"role":"user","content":"Go."}],"big":1152921504606846976,'
        '"tools":[{"name":"Read","input_schema":{}}],"model":"m","alpha":null}'
    )
    body = json.loads(text)
    rewritten = API.rewrite(body, Changes())
    assert json.dumps(rewritten, separators=(",", ":")) == text
    assert rewritten["messages"][0] is body["messages"][0]


def test_tools_are_appended_and_the_order_of_fields_stays() -> None:
    body = request(user("Go."), zeta=1)
    rewritten = API.rewrite(body, Changes(tools=HIDDEN))
    assert rewritten["tools"][: len(TOOLS)] == TOOLS
    assert [tool["name"] for tool in rewritten["tools"][len(TOOLS) :]] == ["memory_query", "recall"]
    assert all("input_schema" in tool for tool in rewritten["tools"])
    assert list(rewritten) == list(body)


def test_replaced_results_keep_their_block() -> None:
    body = request(
        user("Go."),
        assistant(call("a"), call("b"), call("c"), call("d")),
        user(
            result("a", "long", is_error=True, cache_control=MARKER),
            result(
                "b", [{"type": "text", "text": "1"}, {"type": "text", "text": "2", "cache_control": MARKER}]
            ),
            result("c", [{"type": "image", "source": {}}]),
            result("d", "other"),
            "And?",
        ),
    )
    before = copy.deepcopy(body)
    rewritten = API.rewrite(body, Changes(replaced={"a": "A", "b": "B", "c": "C", "z": "Z"}))
    assert body == before
    assert rewritten["messages"][2]["content"] == [
        result("a", "A", is_error=True, cache_control=MARKER),
        result("b", [{"type": "text", "text": "B", "cache_control": MARKER}]),
        result("c", [{"type": "image", "source": {}}]),
        result("d", "other"),
        {"type": "text", "text": "And?"},
    ]
    assert rewritten["messages"][0] is body["messages"][0]
    assert rewritten["messages"][1] is body["messages"][1]


def test_exchange_is_inserted_at_its_turn_with_results_first() -> None:
    turn = assistant(thought("t"), query("h"), call("a"), query("h2"))
    exchange = Exchange("calls:a", [turn], [result("h", "one"), result("h2", "two")])
    shown = assistant(thought("t"), {**call("a"), "cache_control": MARKER})
    body = request(
        user("Go."),
        shown,
        {"role": "system", "content": "Note."},
        user({**result("a", "x"), "cache_control": MARKER}, "And?"),
    )
    rewritten = API.rewrite(body, Changes(exchanges={"calls:a": exchange}, replaced={"a": "short"}))
    assert rewritten["messages"] == [
        user("Go."),
        assistant(thought("t"), query("h"), call("a"), {**query("h2"), "cache_control": MARKER}),
        {"role": "system", "content": "Note."},
        user(
            result("h", "one"), result("h2", "two"), {**result("a", "short"), "cache_control": MARKER}, "And?"
        ),
    ]
    assert "cache_control" not in str(exchange)


def test_turn_that_a_client_split_into_messages_is_one_turn() -> None:
    exchange = Exchange("calls:a", [assistant("I look.", query("h"), call("a"))], [result("h", "one")])
    body = request(user("Go."), assistant("I look."), assistant(call("a")), user(result("a")), user("And?"))
    rewritten = API.rewrite(body, Changes(exchanges={"calls:a": exchange}))
    assert rewritten["messages"] == [
        user("Go."),
        assistant("I look.", query("h"), call("a")),
        user(result("h", "one"), result("a")),
        user("And?"),
    ]


def test_opening_is_a_turn_of_its_own_that_has_ended() -> None:
    body = request(user("Go."), thinking={"type": "enabled", "budget_tokens": 1024})
    rewritten = API.rewrite(body, Changes(tools=HIDDEN, opening="- Likes tea."))
    *opening, prompt = rewritten["messages"]
    assert prompt is body["messages"][0]
    assert [message["role"] for message in opening] == ["user", "assistant", "user", "assistant"]
    assert opening[1]["content"][0]["id"] == OPENING_CALL_ID
    assert opening[2]["content"] == [result(OPENING_CALL_ID, "- Likes tea.")]
    assert [block["type"] for block in opening[3]["content"]] == ["text"]
    later = API.rewrite(
        request(*body["messages"], assistant("Hi."), user("On.")),
        Changes(tools=HIDDEN, opening="- Likes tea."),
    )
    assert later["messages"][:5] == rewritten["messages"]


def test_no_opening_if_recall_is_a_tool_of_the_client() -> None:
    rewritten = API.rewrite(request(user("Go.")), Changes(tools=HIDDEN[:1], opening="- Likes tea."))
    assert rewritten["messages"] == [user("Go.")]
