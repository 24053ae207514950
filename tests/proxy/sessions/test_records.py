"""What the proxy records of a session, and what the next session begins with."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.proxy.running import RunningProxy, running_proxy
from tests.proxy.sessions.sdk_clients import AnthropicSession, ChatSession, ResponsesSession, Session
from tests.proxy.upstream.script import Call, Failure, Use, script, step
from tests.proxy.upstream.server import Upstream
from tests.waiting import wait_for

FACT = "The launch code of the rocket is heliotrope."
RETAIN = Call("retain", {"text": FACT})
RECALL = Call("recall", {"query": "launch code"})
KINDS = (AnthropicSession, ChatSession, ResponsesSession)


async def test_turns_and_tool_calls_are_recorded_once(
    proxied: Upstream, paging_proxy: RunningProxy, subtests: pytest.Subtests
) -> None:
    proxied.script = script(
        [step("I look.", Use("read", "a.py"), RECALL), step("It is there.")], [step("Welcome.")]
    )
    for kind in KINDS:
        tenant = f"recorded {kind.__name__}"
        headers = {"x-mnemic-key": paging_proxy.create_key(tenant).key}
        with subtests.test(kind.__name__):
            session: Session
            async with aclosing(kind(paging_proxy.url, default_headers=headers)) as session:
                await session.ask("Where is it?")
                await session.ask("Thanks.")
            memory = paging_proxy.memory(tenant)
            conversations = memory.conversations
            await wait_for(
                lambda conversations=conversations: (  # type: ignore[misc]
                    len(paging_proxy.run(conversations.recent(owner="default"))) >= 5
                ),
                what="the turns to be recorded",
            )
            (recorded,) = paging_proxy.run(conversations.list(owner="default"))
            turns = paging_proxy.run(conversations.turns(recorded.conversation, owner="default"))
            assert [turn.content for turn in turns] == [
                "Where is it?",
                "I look.",
                "It is there.",
                "Thanks.",
                "Welcome.",
            ]
            (call,) = paging_proxy.run(conversations.tools(recorded.conversation, owner="default"))
            assert (call.tool, call.arguments, call.succeeded) == ("read", {"path": "a.py"}, True)
            assert call.result is not None
            assert "value_0_a.py" in call.result


async def test_nothing_is_recorded_of_a_turn_that_the_client_leaves(
    proxied: Upstream, paging_proxy: RunningProxy
) -> None:
    """In the second round, after a hidden call; the client then repeats its request."""
    proxied.script = script([step(RECALL), step("Half a sentence.", failure=Failure(hold_after=2))])
    headers = {"x-mnemic-key": paging_proxy.create_key("left").key}
    async with aclosing(AnthropicSession(paging_proxy.url, default_headers=headers)) as session:
        asking = asyncio.create_task(session.ask("Leave in the middle."))
        await wait_for(lambda: len(proxied.turns()) == 2, what="the second round to begin")
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    await wait_for(lambda: proxied.received[-1].client_left, what="the provider to see that nobody reads")
    proxied.forget()
    proxied.script = script([step("A whole sentence.")])
    async with aclosing(AnthropicSession(paging_proxy.url, default_headers=headers)) as session:
        assert await session.ask("Leave in the middle.") == "A whole sentence."
    conversations = paging_proxy.memory("left").conversations
    await wait_for(
        lambda: len(paging_proxy.run(conversations.recent(owner="default"))) >= 2,
        what="the turn to be recorded",
    )
    (recorded,) = paging_proxy.run(conversations.list(owner="default"))
    turns = paging_proxy.run(conversations.turns(recorded.conversation, owner="default"))
    assert [turn.content for turn in turns] == ["Leave in the middle.", "A whole sentence."]
    assert proxied.problems == []


async def test_a_session_begins_with_what_an_earlier_one_retained(
    proxy_folder: Path,
    strict_upstream: Upstream,
    subtests: pytest.Subtests,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A busy machine must not change what is tested.
    monkeypatch.setattr("mnemic.proxy.opening.OPENING_TIMEOUT_S", 60.0)
    url = strict_upstream.url
    with running_proxy(proxy_folder, anthropic=url, openai=url) as proxy:
        for kind in KINDS:
            headers = {"x-mnemic-key": proxy.create_key(f"opening {kind.__name__}").key}
            with subtests.test(kind.__name__):
                strict_upstream.forget()
                strict_upstream.script = script([step(RETAIN), step("Stored.")])
                session: Session
                async with aclosing(kind(proxy.url, default_headers=headers)) as session:
                    await session.ask("Remember the launch code of the rocket.")
                strict_upstream.forget()
                strict_upstream.script = script(
                    [step(Use("read", "a.py")), step(RECALL, Use("bash", "ls")), step("Done.")],
                    [step(Use("read", "b.py")), step("Bye.")],
                )
                async with aclosing(kind(proxy.url, default_headers=headers)) as session:
                    assert await session.ask("What is the launch code of the rocket?") == "Done."
                    assert await session.ask("Go on.") == "Bye."
                assert "heliotrope" in str(strict_upstream.turns()[0].body), "the opening"
                assert "heliotrope" not in str(session.seen.transcript)
                assert strict_upstream.problems == []
                assert list(map(str, strict_upstream.rewrites)) == []
