"""Turns through the proxy, from a client to a strict provider and back."""

from tests.proxy.running import RunningProxy
from tests.proxy.sessions.sdk_clients import AnthropicSession
from tests.proxy.upstream.script import Call, Thinking, Use, script, step
from tests.proxy.upstream.server import Upstream

THINKING = {"type": "enabled", "budget_tokens": 1024}


async def test_hidden_and_mixed_turns_reach_the_client_as_one_turn_each(
    paging_proxy: RunningProxy, proxied: Upstream
) -> None:
    proxied.script = script(
        [
            step(Thinking("Let me ask."), "First.", Call("recall", {"query": "cats"})),
            step(Thinking("And again."), "Second.", Call("recall", {"query": "dogs"}), Use("read", "a.py")),
            step("Done."),
        ]
    )
    session = AnthropicSession(paging_proxy.url, thinking=THINKING)
    assert await session.ask("Hello there, hidden and mixed") == "Done."
    await session.aclose()
    assert proxied.problems == []
    assert proxied.rewrites == []
    assert session.seen.called == ["read"]
    assert len(proxied.turns()) == 3
