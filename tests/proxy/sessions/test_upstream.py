"""The stand-in itself: good sessions pass, and what a provider rejects is rejected."""

import copy
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from tests.proxy.sessions.sdk_clients import (
    CLIENTS,
    THINKING,
    AnthropicSession,
    ChatSession,
    ResponsesSession,
)
from tests.proxy.upstream.rules import Rules
from tests.proxy.upstream.script import Call, Failure, Script, Thinking, Use, script, step
from tests.proxy.upstream.server import Upstream
from tests.server.running import TLS
from tests.waiting import wait_for

THOUGHT = Thinking("What is there to do?")
SESSION = script(
    [
        step(THOUGHT, "I look.", Use("read", "a.py")),
        step(Thinking("And now?"), Use("read", "b.py"), Use("bash", "ls")),
        step("Both are read."),
    ],
    [step(Thinking("Again."), Use("bash", "date")), step("It is late.")],
)


async def test_every_client_runs_a_session_without_a_proxy(
    strict_upstream: Upstream, subtests: pytest.Subtests
) -> None:
    for name, open_session in CLIENTS.items():
        strict_upstream.script = SESSION
        with subtests.test(name):
            async with aclosing(open_session(strict_upstream.url)) as session:
                assert await session.ask("What is in the files?") == "Both are read."
                assert await session.ask("What time is it?") == "It is late."
            assert sorted(session.seen.called) == ["bash", "bash", "read", "read"]
    assert strict_upstream.problems == []
    assert list(map(str, strict_upstream.rewrites)) == []


async def anthropic_body(strict_upstream: Upstream) -> dict[str, Any]:
    """A valid request with thinking, calls and results."""
    strict_upstream.script = SESSION
    async with aclosing(AnthropicSession(strict_upstream.url, thinking=THINKING)) as session:
        await session.ask("Go.")
    body = copy.deepcopy(strict_upstream.received[-1].body)
    body["stream"] = False
    return dict(body)


async def post(strict_upstream: Upstream, path: str, body: Any, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(verify=TLS) as client:
        named = {"anthropic-version": "2023-06-01"} | {key.replace("_", "-"): v for key, v in headers.items()}
        return await client.post(strict_upstream.url + path, json=body, headers=named)


def _swap_results(body: dict[str, Any]) -> None:
    body["messages"][4]["content"].insert(0, {"type": "text", "text": "first"})


def _change_first_message(body: dict[str, Any]) -> None:
    body["messages"][0]["content"] = "Something else."


def _leave_out_thinking_between(body: dict[str, Any]) -> None:
    body["messages"].append({"role": "assistant", "content": "ok"})
    body["messages"].append({"role": "user", "content": "more"})
    del body["messages"][3]["content"][0]


def _too_many_breakpoints(body: dict[str, Any]) -> None:
    for tool in body["tools"]:
        tool["cache_control"] = {"type": "ephemeral"}
    for message in body["messages"][1:4]:
        message["content"][-1]["cache_control"] = {"type": "ephemeral"}


def _repeat_id(body: dict[str, Any]) -> None:
    first = body["messages"][1]["content"][-1]["id"]
    body["messages"][3]["content"][-1]["id"] = first
    body["messages"][4]["content"][-1]["tool_use_id"] = first


ANTHROPIC_FAULTS: dict[str, tuple[Any, str]] = {
    "no result": (lambda body: body["messages"][2].update(content="no result"), "without `tool_result`"),
    "a result too many": (
        lambda body: body["messages"][2]["content"].append({"type": "tool_result", "tool_use_id": "x"}),
        "unexpected `tool_use_id`",
    ),
    "text before results": (_swap_results, "must come first"),
    "a repeated id": (_repeat_id, "must be unique"),
    "two tools of one name": (lambda body: body["tools"].append(body["tools"][0]), "names must be unique"),
    "five breakpoints": (_too_many_breakpoints, "maximum of 4"),
    "empty text": (lambda body: body["messages"][0].update(content=" "), "non-whitespace"),
    "no content": (lambda body: body["messages"][0].update(content=[]), "non-empty content"),
    "changed thinking": (
        lambda body: body["messages"][1]["content"][0].update(thinking="other"),
        "Invalid `signature`",
    ),
    "changed prefix": (_change_first_message, "bound to a different conversation"),
    "changed tools": (lambda body: body["tools"].pop(), "bound to a different conversation"),
    "a turn without its thinking": (
        lambda body: body["messages"][1]["content"].pop(0),
        "Expected `thinking`",
    ),
    "drop_block without its header": (
        lambda body: body["thinking"].update(block_binding={"prefix_mismatch_behavior": "drop_block"}),
        "Extra inputs",
    ),
}


async def test_anthropic_rejects_what_the_provider_rejects(
    strict_upstream: Upstream, subtests: pytest.Subtests
) -> None:
    good = await anthropic_body(strict_upstream)
    assert (await post(strict_upstream, "/v1/messages", good)).status_code == 200
    for name, (spoil, message) in ANTHROPIC_FAULTS.items():
        body = copy.deepcopy(good)
        spoil(body)
        with subtests.test(name):
            response = await post(strict_upstream, "/v1/messages", body)
            assert response.status_code == 400
            assert message in response.json()["error"]["message"]


async def test_thinking_that_no_longer_fits_can_be_dropped(strict_upstream: Upstream) -> None:
    body = await anthropic_body(strict_upstream)
    _change_first_message(body)
    body["thinking"] = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    strict_upstream.begin_epoch()
    beta = "thinking-binding-controls-2026-08-01"
    response = await post(strict_upstream, "/v1/messages", body, anthropic_beta=beta)
    assert response.status_code == 200
    assert [one["type"] for one in response.json()["input_transformations"]] == ["thinking_dropped"] * 2
    assert strict_upstream.rewrites == []
    assert len(strict_upstream.conversations.allowed) == 1


async def test_first_thinking_may_be_left_out_but_not_thinking_between(strict_upstream: Upstream) -> None:
    strict_upstream.script = script(
        [*(step(Thinking(f"Thought {n}"), Use("read", f"{n}.py")) for n in range(3)), step("ok")]
    )
    async with aclosing(AnthropicSession(strict_upstream.url)) as session:
        await session.ask("Go.")
    good = copy.deepcopy(strict_upstream.received[-1].body) | {"stream": False}
    first, between = copy.deepcopy(good), copy.deepcopy(good)
    del first["messages"][1]["content"][0]
    assert (await post(strict_upstream, "/v1/messages", first)).status_code == 200
    del between["messages"][3]["content"][0]
    assert "bound to a different" in (await post(strict_upstream, "/v1/messages", between)).text


CHAT_FAULTS: dict[str, tuple[Any, str]] = {
    "no result": (lambda body: body["messages"].pop(2), "must be followed by tool messages"),
    "a result too many": (
        lambda body: body["messages"].append({"role": "tool", "tool_call_id": "x", "content": "y"}),
        "must be a response",
    ),
    "nothing said": (lambda body: body["messages"].append({"role": "assistant"}), "got null"),
    "two tools of one name": (lambda body: body["tools"].append(body["tools"][0]), "unique"),
    "an index": (lambda body: body["messages"][1]["tool_calls"][0].update(index=0), "unexpected"),
}


async def test_chat_rejects_what_the_provider_rejects(
    strict_upstream: Upstream, subtests: pytest.Subtests
) -> None:
    strict_upstream.script = SESSION
    async with aclosing(ChatSession(strict_upstream.url, is_streamed=False)) as session:
        await session.ask("Go.")
    good = strict_upstream.received[-1].body
    for name, (spoil, message) in CHAT_FAULTS.items():
        body = copy.deepcopy(good)
        spoil(body)
        with subtests.test(name):
            response = await post(strict_upstream, "/v1/chat/completions", body)
            assert response.status_code == 400
            assert message in response.json()["error"]["message"]


RESPONSES_FAULTS: dict[str, tuple[Any, str]] = {
    "no output": (
        lambda body: body["input"].remove(_first(body, "function_call_output")),
        "No tool output found",
    ),
    "no call": (lambda body: body["input"].remove(_first(body, "function_call")), "No tool call found"),
    "no reasoning": (lambda body: body["input"].remove(_first(body, "reasoning")), "required 'reasoning'"),
    "reasoning at the end": (
        lambda body: body["input"].append(_first(body, "reasoning")),
        "required following item",
    ),
    "changed reasoning": (
        lambda body: _first(body, "reasoning").update(encrypted_content="enc.x.y"),
        "could not be verified",
    ),
    "reasoning that was not stored": (
        lambda body: _first(body, "reasoning").pop("encrypted_content"),
        "not persisted",
    ),
    "an id of another kind": (lambda body: _first(body, "function_call").update(id="x"), "begins with 'fc'"),
    "an unknown response": (lambda body: body.update(previous_response_id="resp_x"), "not found"),
}


def _first(body: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in body["input"] if item.get("type") == kind)
    return found


async def test_responses_rejects_what_the_provider_rejects(
    strict_upstream: Upstream, subtests: pytest.Subtests
) -> None:
    strict_upstream.script = SESSION
    async with aclosing(ResponsesSession(strict_upstream.url, is_streamed=False, is_stored=False)) as session:
        await session.ask("Go.")
    good = strict_upstream.received[-1].body
    assert (await post(strict_upstream, "/v1/responses", good)).status_code == 200
    for name, (spoil, message) in RESPONSES_FAULTS.items():
        body = copy.deepcopy(good)
        spoil(body)
        with subtests.test(name):
            response = await post(strict_upstream, "/v1/responses", body)
            assert response.status_code == 400
            assert message in response.json()["error"]["message"]


async def test_a_request_that_changes_what_was_sent_is_noted(strict_upstream: Upstream) -> None:
    strict_upstream.rules = Rules(binding="off")
    body = await anthropic_body(strict_upstream)
    body["messages"][2]["content"][0]["content"] = "shorter"
    assert (await post(strict_upstream, "/v1/messages", body)).status_code == 200
    assert (
        [rewrite.after for rewrite in strict_upstream.rewrites]
        == [rewrite.after for rewrite in strict_upstream.rewrites if "shorter" in rewrite.after]
        != []
    )
    strict_upstream.rules = Rules(binding="off", rejects_rewrites=True)
    body["messages"][2]["content"][0]["content"] = "shorter still"
    assert (await post(strict_upstream, "/v1/messages", body)).status_code == 400


async def test_the_prompt_cache_reads_what_an_earlier_request_wrote(strict_upstream: Upstream) -> None:
    body = await anthropic_body(strict_upstream)
    body["tools"][-1]["cache_control"] = body["messages"][0]["cache_control"] = {"type": "ephemeral"}
    body["messages"][0] = {
        "role": "user",
        "content": [{"type": "text", "text": "Go.", "cache_control": {"type": "ephemeral"}}],
    }
    first = (await post(strict_upstream, "/v1/messages", body)).json()["usage"]
    second = (await post(strict_upstream, "/v1/messages", body)).json()["usage"]
    assert first["cache_read_input_tokens"] == 0 < first["cache_creation_input_tokens"]
    assert second["cache_read_input_tokens"] == first["cache_creation_input_tokens"]
    assert second["cache_creation_input_tokens"] == 0


async def failing(strict_upstream: Upstream, failure: Failure) -> httpx.Response:
    strict_upstream.script = Script([[step("Some words that take several events.", failure=failure)]])
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "stream": True}
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    return await post(strict_upstream, "/v1/messages", body | {"tools": tools})


async def test_scripted_failures(strict_upstream: Upstream) -> None:
    for status in (429, 500, 529):
        assert (await failing(strict_upstream, Failure(status))).status_code == status
        strict_upstream.forget()
    broken = await failing(strict_upstream, Failure(error_after=3))
    assert "event: error" in broken.text
    assert "message_stop" not in broken.text
    with pytest.raises(httpx.RemoteProtocolError):
        await failing(strict_upstream, Failure(cut_after=3))


async def test_a_stream_in_pieces_holds_the_same_bytes(strict_upstream: Upstream) -> None:
    whole = await failing(strict_upstream, Failure())
    strict_upstream.rules = Rules(piece_bytes=(1, 2, 3))
    pieces = await failing(strict_upstream, Failure())
    assert len(whole.content) == len(pieces.content)
    assert strict_upstream.received[-1].sent == pieces.content


async def test_a_client_that_leaves_is_noticed(strict_upstream: Upstream) -> None:
    strict_upstream.script = Script([[step("Some words.", failure=Failure(hold_after=2))]])
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "tools": tools}
    headers = {"anthropic-version": "2023-06-01"}
    async with httpx.AsyncClient(verify=TLS) as client:
        address = strict_upstream.url + "/v1/messages"
        async with client.stream("POST", address, json=body | {"stream": True}, headers=headers):
            pass
    await wait_for(lambda: strict_upstream.received[0].client_left, what="the stand-in to notice")


async def test_a_call_by_name_reaches_the_client(strict_upstream: Upstream) -> None:
    strict_upstream.script = script([step(Call("read", {"path": "x"})), step("ok")])
    async with aclosing(ChatSession(strict_upstream.url)) as session:
        await session.ask("Go.")
    assert session.seen.called == ["read"]
