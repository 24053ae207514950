"""Turns that do not end as usual: too many hidden calls, and errors in mid-stream."""

from contextlib import aclosing

import anthropic
import openai
import pytest

from mnemic.proxy.rounds import HIDDEN_ROUNDS_MAX
from tests.proxy.running import RunningProxy
from tests.proxy.sessions.sdk_clients import (
    CLIENTS,
    AnthropicSession,
    ChatSession,
    ResponsesSession,
    Session,
)
from tests.proxy.upstream.script import Call, Failure, Script, Thinking, Use, script, step
from tests.proxy.upstream.server import Upstream

RECALL = Call("recall", {"query": "what was decided?"})
ENDLESS = range(HIDDEN_ROUNDS_MAX + 1)
DONE = step("Done.")
# Anthropic takes words that follow results of hidden calls for the same prompt.
SPEAKING = Script([[*(step(f"Look {n}.", RECALL) for n in ENDLESS), DONE], [DONE]])
SILENT = Script([[*(step(Thinking("Again."), RECALL) for _ in ENDLESS), DONE], [DONE]])


@pytest.mark.parametrize("given", [SPEAKING, SILENT], ids=["speaking", "silent"])
async def test_endless_hidden_calls_end_the_turn_properly(
    proxied: Upstream, paging_proxy: RunningProxy, subtests: pytest.Subtests, given: Script
) -> None:
    for name, open_session in CLIENTS.items():
        if name.startswith(("pydantic", "openai-agents")):
            continue
        proxied.forget()
        proxied.script = given
        with subtests.test(name):
            async with aclosing(open_session(paging_proxy.url)) as session:
                assert await session.ask(f"Look for ever, {name}.")
                assert len(proxied.turns()) == HIDDEN_ROUNDS_MAX + 1
                assert session.seen.called == []
                assert await session.ask("And now?") == "Done."
            assert proxied.problems == []
            assert list(map(str, proxied.rewrites)) == []


async def test_an_error_in_mid_stream_reaches_the_client_through_a_changed_turn(
    proxied: Upstream, paging_proxy: RunningProxy, subtests: pytest.Subtests
) -> None:
    """In the second round of a turn, after a hidden call; the client then repeats its request."""
    broken = step("Some words to break.", Use("read", "a.py"), failure=Failure(error_after=5))
    for kind in (AnthropicSession, ChatSession, ResponsesSession):
        proxied.forget()
        proxied.script = script([step(RECALL), broken])
        with subtests.test(kind.__name__):
            session: Session
            async with aclosing(kind(paging_proxy.url)) as session:
                kept = list(session.seen.transcript)
                with pytest.raises((anthropic.APIError, openai.APIError, RuntimeError)):
                    await session.ask(f"Begin and break, {kind.__name__}.")
                assert session.seen.called == []
                session.seen.transcript[:] = kept
                proxied.forget()
                proxied.script = script([step(RECALL), step("Now it works.")])
                assert await session.ask(f"Begin and break, {kind.__name__}.") == "Now it works."
            assert proxied.problems == []
            assert proxied.rewrites == []
