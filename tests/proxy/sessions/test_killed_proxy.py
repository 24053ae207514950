"""What a client sees after the proxy was killed: its next request is right."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import anthropic

from tests.proxy.proxy_process import proxy_process
from tests.proxy.sessions.sdk_clients import THINKING, anthropic_client
from tests.proxy.upstream.script import Call, Failure, Thinking, Use, script, step
from tests.proxy.upstream.server import Upstream
from tests.waiting import wait_for

TOOLS: Any = [
    {"name": "read", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}
]
RECALL = Call("recall", {"query": "what was decided?"})


async def ask(url: str, messages: list[Any]) -> anthropic.types.Message:
    """One request of a client without state."""
    options: Any = {"model": "claude-scripted", "max_tokens": 2_000, "tools": TOOLS, "thinking": THINKING}
    async with (
        anthropic_client(url) as client,
        client.messages.stream(messages=messages, **options) as stream,
    ):
        return await stream.get_final_message()


def turn(message: anthropic.types.Message) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [block.model_dump(exclude_none=True) for block in message.content],
    }


async def test_a_proxy_that_is_killed_between_the_halves_of_a_mixed_turn_continues_it(
    proxy_folder: Path, strict_upstream: Upstream, tmp_path: Path
) -> None:
    strict_upstream.script = script(
        [step(Thinking("Both."), "I look.", RECALL, Use("read", "a.py")), step("Done after the kill.")]
    )
    messages: list[Any] = [{"role": "user", "content": "Mixed, then killed"}]
    with proxy_process(proxy_folder, strict_upstream.url, tmp_path / "log") as first:
        answer = await ask(first.url, messages)
        first.end(signal.SIGKILL)
    (call,) = [block for block in answer.content if block.type == "tool_use"]
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "the file"}
    messages += [turn(answer), {"role": "user", "content": [result]}]
    with proxy_process(proxy_folder, strict_upstream.url, tmp_path / "log") as second:
        answer = await ask(second.url, messages)
    assert [block.text for block in answer.content if block.type == "text"] == ["Done after the kill."]
    assert strict_upstream.problems == []
    assert strict_upstream.rewrites == []
    sent = strict_upstream.turns()[-1].body["messages"][-1]["content"]
    assert [block["type"] for block in sent] == ["tool_result", "tool_result"], "hidden result first"
    assert sent[1]["tool_use_id"] == call.id


async def test_a_proxy_that_is_killed_in_a_stream_leaves_nothing_by_halves(
    proxy_folder: Path, strict_upstream: Upstream, tmp_path: Path
) -> None:
    strict_upstream.script = script([step("Slowly spoken words.", failure=Failure(hold_after=2))])
    messages: list[Any] = [{"role": "user", "content": "Killed in mid-stream"}]
    with proxy_process(proxy_folder, strict_upstream.url, tmp_path / "log") as first:
        asking = asyncio.create_task(ask(first.url, messages))
        await wait_for(lambda: bool(strict_upstream.received), what="the request at the provider")
        first.end(signal.SIGKILL)
        (failure,) = await asyncio.gather(asking, return_exceptions=True)
        assert isinstance(failure, Exception), "the client sees that the response is not complete"
    strict_upstream.script = script([step("Spoken again.")])
    with proxy_process(proxy_folder, strict_upstream.url, tmp_path / "log") as second:
        answer = await ask(second.url, messages)
    assert [block.text for block in answer.content if block.type == "text"] == ["Spoken again."]
    assert strict_upstream.problems == []
