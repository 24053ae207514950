"""Turns of OpenAI's clients through the proxy: hidden, mixed in both orders, parallel, and continued."""

import pytest

from tests.proxy.running import RunningProxy
from tests.proxy.sessions.sdk_clients import CLIENTS
from tests.proxy.upstream.script import Call, Thinking, Use, script, step
from tests.proxy.upstream.server import Upstream

OPENAI = [name for name in CLIENTS if not name.startswith("anthropic")]
CATS = Call("recall", {"query": "cats"})
DOGS = Call("recall", {"query": "dogs"})


@pytest.mark.parametrize("name", OPENAI)
async def test_hidden_calls_are_never_seen_by_a_client(
    paging_proxy: RunningProxy, proxied: Upstream, name: str
) -> None:
    proxied.script = script(
        [
            step(Thinking("Ask."), "First.", CATS),
            step(Thinking("Both."), "Second.", DOGS, Use("read", "a.py")),
            step(Thinking("Other order."), Use("bash", "ls"), CATS, Use("read", "b.py"), DOGS),
            step(Thinking("Only theirs."), Use("read", "c.py")),
            step(Thinking("Two at once."), CATS, DOGS),
            step(Thinking("Done."), "That is all."),
        ],
        [step(Thinking("Again."), CATS), step(Use("read", "d.py")), step("Bye.")],
    )
    session = CLIENTS[name](paging_proxy.url)
    try:
        assert (await session.ask(f"What is in a.py? ({name})")).endswith("That is all.")
        assert (await session.ask("And now?")).endswith("Bye.")
    finally:
        await session.aclose()
    assert proxied.problems == []
    assert proxied.rewrites == []
    assert session.seen.called == ["read", "bash", "read", "read", "read"]
    assert len(proxied.turns()) == 9
    assert "recall" not in str(session.seen.transcript)
