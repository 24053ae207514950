"""Two proxies over one database serve one session in turns: each notices what the other did."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import pytest

from tests.proxy.running import RunningProxy, running_proxy
from tests.proxy.sessions.sdk_clients import anthropic_client
from tests.proxy.upstream.script import Call, Use, script, step
from tests.proxy.upstream.server import Upstream

TURNS = 12
TOOLS: Any = [
    {"name": "bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}
]
ORDER = "AABABBAAABBB"
"""Which proxy gets a request: also several in a row, which it reads from what it kept."""


@pytest.fixture
def other_proxy(
    proxy_folder: Path, paging_proxy: RunningProxy, shared_strict_upstream: Upstream
) -> Iterator[RunningProxy]:
    """A second proxy on the database of the first one."""
    url = shared_strict_upstream.url
    with running_proxy(proxy_folder, anthropic=url, openai=url, proxy_opening_tokens=0) as running:
        yield running


async def test_a_session_that_moves_between_proxies_only_grows(
    paging_proxy: RunningProxy, other_proxy: RunningProxy, proxied: Upstream
) -> None:
    steps = [
        step(
            *([Call("recall", {"query": f"fact {number}"})] if number % 3 == 0 else []),
            Use("bash", f"make {number}"),
        )
        for number in range(TURNS)
    ]
    proxied.script = script([*steps, step("Done.")])
    proxies = {"A": paging_proxy, "B": other_proxy}
    messages: list[Any] = [{"role": "user", "content": "Build it, wherever you are."}]
    for number, name in enumerate([*ORDER, "A"]):
        message = await _ask(proxies[name].url, messages)
        content = [block.model_dump(exclude_none=True) for block in message.content]
        messages.append({"role": "assistant", "content": content})
        calls = [block for block in message.content if block.type == "tool_use"]
        assert [call.name for call in calls] == (["bash"] if number < TURNS else [])
        results = [_result(call.id, number) for call in calls]
        messages += [{"role": "user", "content": results}] if results else []
    assert proxied.problems == []
    assert proxied.rewrites == []
    last = str(proxied.turns()[-1].body)
    assert last.count("make all of") < TURNS * 50, "output was shortened, by both in the same way"
    assert last.count("'name': 'recall', 'input'") == TURNS // 3


def _result(call_id: str, number: int) -> dict[str, Any]:
    lines = (f"{line}: make all of part_{number}_{line}" for line in range(200))
    return {"type": "tool_result", "tool_use_id": call_id, "content": "\n".join(lines)}


async def _ask(url: str, messages: list[Any]) -> anthropic.types.Message:
    async with (
        anthropic_client(url, default_headers={"x-session-id": "moving"}) as client,
        client.messages.stream(
            model="claude-scripted", max_tokens=2_000, tools=TOOLS, messages=messages
        ) as stream,
    ):
        return await stream.get_final_message()
