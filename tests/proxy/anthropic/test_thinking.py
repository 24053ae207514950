"""No request holds thinking that does not fit, as a provider with preserved thinking checks it.

The model of these tests signs each thinking block with a hash of everything before it, and rejects blocks
whose signature does not fit, unless the request asks to ignore them.
"""

import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest

from mnemic.proxy.anthropic.api import AnthropicApi
from mnemic.proxy.anthropic.thinking import BINDING_BETA
from mnemic.proxy.protocol import Body, Changes, Conversation, Exchange, ThinkingCut
from mnemic.proxy.thinking_cuts import cut_at_epoch, cut_at_start
from tests.proxy.anthropic.streams import (
    HIDDEN,
    HIDDEN_NAMES,
    assembled,
    assistant,
    call,
    events,
    feed,
    query,
    request,
    result,
    thought,
    user,
)

API = AnthropicApi()
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
ADAPTIVE = {"thinking": {"type": "adaptive"}}


class RejectedError(Exception):
    """The provider would answer with status 400."""


class Session:
    """A client, the proxy and a strict provider."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.messages: list[Body] = []
        self.changes = Changes(tools=HIDDEN, opening="- Likes tea.")
        self.numbers = 0
        self.ignored = 0

    def body(self) -> Body:
        return request(*self.messages, **self.fields)

    def turn(self, *parts: Any) -> Conversation:
        """One turn: rounds of hidden calls, then what the client sees. Parts are responses of the model."""
        conversation = API.read(self.body())
        sent = API.rewrite(self.body(), self.changes)
        relay = API.relay(sent, HIDDEN_NAMES)
        shown = b""
        for number, response in enumerate(parts):
            self.check(sent)
            signed = [thought(self._text(), _prefix(sent, len(sent["messages"]))), *response]
            more, ended = feed(relay, events(*signed))
            shown += more
            if number + 1 < len(parts):
                sent = relay.continued({hidden.id: "answer" for hidden in ended.hidden})
        exchange = relay.exchange({hidden.id: "answer" for hidden in ended.hidden})
        self._store(exchange)
        message = assembled(shown + relay.finish())
        self.messages.append({"role": "assistant", "content": message["content"]})
        return conversation

    def check(self, sent: Body) -> None:
        binding = (sent["thinking"].get("block_binding") or {}).get("prefix_mismatch_behavior")
        if binding:
            assert BINDING_BETA in API.extra_headers(sent, {"Anthropic-Beta": "a,b"})["anthropic-beta"]
        for number, message in enumerate(sent["messages"]):
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block["type"] == "thinking" and block["signature"] != _prefix(sent, number):
                    if binding != "drop_block":
                        raise RejectedError(number)
                    self.ignored += 1
        if sent["thinking"]["type"] == "enabled":
            _check_first_thought(sent["messages"])

    def epoch(self, *keys: str) -> None:
        """Results become shorter, and the cut is stored."""
        conversation = API.read(self.body())
        cut = cut_at_epoch(conversation, keys)
        replaced = {**self.changes.replaced, **dict.fromkeys(keys, "short")}
        cuts = (*self.changes.cuts, cut) if cut else self.changes.cuts
        self.changes = replace(self.changes, replaced=replaced, cuts=cuts)

    def _text(self) -> str:
        self.numbers += 1
        return f"Thought {self.numbers}."

    def _store(self, exchange: Exchange | None) -> None:
        if exchange is not None:
            self.changes = replace(self.changes, exchanges={**self.changes.exchanges, exchange.key: exchange})


def _prefix(sent: Body, count: int) -> str:
    text = json.dumps([sent.get("system"), sent["tools"], sent["messages"][:count]])
    return hashlib.sha256(text.encode()).hexdigest()


def _check_first_thought(messages: list[Body]) -> None:
    """The turn whose results are being sent begins with thinking."""
    turn: list[Body] = []
    for message in messages:
        content = message["content"]
        has_results = isinstance(content, list) and any(block["type"] == "tool_result" for block in content)
        if message["role"] == "assistant":
            turn.append(message)
        elif not has_results:
            turn = []
    if turn and turn[0]["content"][0]["type"] != "thinking":
        raise RejectedError("turn begins without thinking")


def _work(session: Session, name: str) -> None:
    """A prompt with hidden-only, mixed and plain turns."""
    session.messages.append(user(f"Do {name}."))
    session.turn([query(f"{name}h1")], ["I read.", call(f"{name}a")])
    session.messages.append(user(result(f"{name}a", "long")))
    session.turn([call(f"{name}b"), query(f"{name}h2")])
    session.messages.append(user(result(f"{name}b", "long")))
    session.turn([query(f"{name}h3")], ["Done."])


@pytest.mark.parametrize("fields", [BUDGET, ADAPTIVE])
def test_hidden_calls_never_make_thinking_unfit(fields: dict[str, Any]) -> None:
    session = Session(**fields)
    for name in ("one", "two", "three"):
        _work(session, name)
    assert session.ignored == 0


@pytest.mark.parametrize("fields", [BUDGET, ADAPTIVE])
def test_epochs_between_turns_remove_unfit_thinking_only(fields: dict[str, Any]) -> None:
    session = Session(**fields)
    _work(session, "one")
    _work(session, "two")
    session.messages.append(user("Again."))
    session.epoch("twoa")
    sent = API.rewrite(session.body(), session.changes)
    assert _thoughts(sent) == [
        "Thought 1.",
        "Thought 2.",
        "Thought 3.",
        "Thought 4.",
        "Thought 5.",
        "Thought 6.",
        "Thought 7.",
    ]
    session.turn(["Fine."])
    _work(session, "three")
    session.messages.append(user("Once more."))
    session.epoch("onea", "threea")
    sent = API.rewrite(session.body(), session.changes)
    assert _thoughts(sent) == ["Thought 1.", "Thought 2."]
    session.turn(["Fine."])
    _work(session, "four")
    assert session.ignored == 0


def _thoughts(sent: Body) -> list[str]:
    blocks = [
        block
        for message in sent["messages"]
        if message["role"] == "assistant"
        for block in message["content"]
    ]
    return [block["thinking"] for block in blocks if block["type"] == "thinking"]


def test_epoch_within_a_turn_keeps_its_first_thought() -> None:
    session = Session(**BUDGET)
    _work(session, "one")
    session.messages.append(user("Do two."))
    session.turn([call("a")])
    session.messages.append(user(result("a", "long")))
    session.turn([call("b")])
    session.messages.append(user(result("b", "long")))
    session.epoch("onea", "a")
    session.turn([query("h")], [call("c")])
    assert session.ignored
    session.messages.append(user(result("c", "long")))
    session.turn(["Done."])
    _work(session, "three")
    session.messages.append(user("Last."))
    session.epoch("onea")
    before = session.ignored
    session.turn(["Done."])
    assert session.ignored == before


def test_epoch_within_a_turn_of_adaptive_thinking_removes_all_of_it() -> None:
    session = Session(**ADAPTIVE)
    _work(session, "one")
    session.messages.append(user("Do two."))
    session.turn([call("a")])
    session.messages.append(user(result("a", "long")))
    session.epoch("onea")
    session.turn([call("b")])
    session.messages.append(user(result("b", "long")))
    session.turn(["Done."])
    assert session.ignored == 0


def test_conversation_that_began_without_the_proxy_can_go_on() -> None:
    for fields in (BUDGET, ADAPTIVE):
        session = Session(**fields)
        session.changes = Changes()
        session.messages.append(user("Do one."))
        session.turn([call("a")])
        session.messages.append(user(result("a", "long")))
        session.turn(["Done."])
        session.messages.append(user("Do two."))
        session.changes = Changes(tools=HIDDEN, opening="- Likes tea.")
        with pytest.raises(RejectedError):
            session.turn(["Done."])
        cut = cut_at_start(API.read(session.body()))
        assert cut is not None
        session.changes = replace(session.changes, cuts=(cut,))
        session.turn(["Done."])
        _work(session, "three")


def test_thinking_that_is_switched_off_is_removed_where_it_does_not_fit() -> None:
    session = Session(**BUDGET)
    session.messages.append(user("Do one."))
    session.turn([call("a")])
    session.messages.append(user(result("a", "long")))
    session.epoch("a")
    session.fields = {"thinking": {"type": "disabled"}}
    sent = API.rewrite(session.body(), session.changes)
    assert _thoughts(sent) == ["Thought 1."], "nothing changed before it"
    session.fields = BUDGET
    session.turn([call("b")])
    session.messages.append(user(result("b", "long")))
    session.epoch("a", "b")
    session.fields = {"thinking": {"type": "disabled"}}
    sent = API.rewrite(session.body(), session.changes)
    assert _thoughts(sent) == ["Thought 1."]
    assert "block_binding" not in sent["thinking"]


def test_flag_without_cuts_removes_thinking_of_ended_turns() -> None:
    body = request(
        user("One."),
        assistant(thought("a"), call("a")),
        user(result("a")),
        assistant(thought("b"), "Done."),
        user("Two."),
        assistant(thought("c"), call("b")),
        user(result("b")),
        **BUDGET,
    )
    sent = API.rewrite(body, Changes(drops_thinking=True))
    assert _thoughts(sent) == ["c"]
    assert sent["thinking"]["block_binding"] == {"prefix_mismatch_behavior": "drop_block"}
    assert "block_binding" not in body["thinking"]


def test_cut_of_a_rewritten_history_does_no_harm() -> None:
    body = request(user("One."), assistant(thought("a"), call("a")), user(result("a")), **BUDGET)
    gone = ThinkingCut("gone", "calls:gone")
    assert _thoughts(API.rewrite(body, Changes(cuts=(gone,)))) == ["a"]


def test_message_of_nothing_but_thinking_is_left_out() -> None:
    body = request(user("One."), assistant(thought("a")), user("Two."), **ADAPTIVE)
    sent = API.rewrite(body, Changes(cuts=(ThinkingCut("", ""),)))
    assert sent["messages"] == [user("One."), user("Two.")]
