"""Turns through the proxy, from a client to a strict provider and back."""

from pathlib import Path

from tests.proxy.running import running_proxy
from tests.proxy.sdk_clients import AnthropicSession
from tests.proxy.upstream.script import Call, Thinking, Use, script, step
from tests.proxy.upstream.server import Upstream


async def test_hidden_and_mixed_turns_reach_the_client_as_one_turn_each(
    proxy_folder: Path, strict_upstream: Upstream
) -> None:
    strict_upstream.script = script(
        [
            step(Thinking("Let me ask."), "First.", Call("recall", {"query": "cats"})),
            step(Thinking("And again."), "Second.", Call("recall", {"query": "dogs"}), Use("read", "a.py")),
            step("Done."),
        ]
    )
    with running_proxy(proxy_folder, anthropic=strict_upstream.url, openai=strict_upstream.url) as proxy:
        session = AnthropicSession(proxy.url, thinking={"type": "enabled", "budget_tokens": 1024})
        assert await session.ask("Hello there") == "Done."
        await session.aclose()
    assert strict_upstream.problems == []
    assert strict_upstream.rewrites == []
    assert session.seen.called == ["read"]
