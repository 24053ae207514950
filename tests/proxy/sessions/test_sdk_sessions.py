"""Sessions of the Python SDKs through the proxy: clients never see a memory tool, the provider sees all."""

import json
from contextlib import aclosing

import pytest

from tests.proxy.running import RunningProxy
from tests.proxy.sessions.sdk_clients import (
    CLIENTS,
    THINKING,
    AnthropicSession,
    ChatSession,
    ResponsesSession,
    Session,
)
from tests.proxy.upstream.rules import Rules
from tests.proxy.upstream.script import Call, Script, Step, Thinking, Use, script, step
from tests.proxy.upstream.server import Upstream

HIDDEN = ("recall", "retain", "memory_query", "memory_restore")
RECALL = Call("recall", {"query": "what was decided?"})
RETAIN = Call("retain", {"text": "The tests of the proxy ran."})
READ, RUN = Use("read", "a.py"), Use("bash", "ls")

FIRST_PROMPT = [
    step(Thinking("Does the memory know?"), RECALL),
    step(Thinking("I read."), "I look.", READ),
    step(Thinking("Memory first."), RECALL, RUN),
    step(Thinking("Memory last."), RUN, RETAIN),
    step(Thinking("All at once."), "All.", READ, RECALL, RUN, RETAIN),
    step(Thinking("Two of the memory."), RECALL, RETAIN),
    step("The first prompt is done."),
]
SECOND_PROMPT = [
    step(Thinking("Again."), "Let me see.", RECALL),
    step(RUN, RECALL),
    step("The second prompt is done."),
]
EVERYTHING = script(FIRST_PROMPT, SECOND_PROMPT)
CLIENTS_CALLS = ["read", "bash", "bash", "read", "bash", "bash"]


def hidden_results(upstream: Upstream) -> list[str]:
    """Names of hidden tools in the last prompt that the provider got."""
    body = json.dumps(upstream.turns()[-1].body)
    return [name for name in HIDDEN for _ in range(body.count(f'"name": "{name}"') - 1)]


def assert_accepted(upstream: Upstream) -> None:
    """The provider rejected nothing, and every request appended to the one before."""
    assert upstream.problems == []
    assert list(map(str, upstream.rewrites)) == []


async def test_clients_see_only_their_own_tools(
    proxied: Upstream, paging_proxy: RunningProxy, subtests: pytest.Subtests
) -> None:
    for name, open_session in CLIENTS.items():
        proxied.forget()
        proxied.script = EVERYTHING
        with subtests.test(name):
            async with aclosing(open_session(paging_proxy.url)) as session:
                assert await session.ask(f"Begin, {name}.") == "The first prompt is done."
                assert await session.ask("Go on.") == "The second prompt is done."
            assert session.seen.called == CLIENTS_CALLS
            assert not any(f'"{hidden}"' in str(session.seen.transcript) for hidden in HIDDEN)
            assert_accepted(proxied)
            assert len(proxied.turns()) == len(FIRST_PROMPT) + len(SECOND_PROMPT)


async def test_streams_in_small_pieces_give_the_same_session(
    proxied: Upstream, paging_proxy: RunningProxy, subtests: pytest.Subtests
) -> None:
    proxied.script = EVERYTHING
    for sizes in ((1,), (3, 1, 7), (64,)):
        proxied.rules = Rules(piece_bytes=sizes)
        for kind in (AnthropicSession, ChatSession, ResponsesSession):
            with subtests.test(f"{kind.__name__} {sizes}"):
                session: Session
                async with aclosing(kind(paging_proxy.url)) as session:
                    await session.ask(f"Begin in pieces of {sizes}, {kind.__name__}.")
                assert session.seen.called == CLIENTS_CALLS[:-1]
    assert_accepted(proxied)


async def test_hidden_calls_and_results_stay_in_the_prompt(
    proxied: Upstream, paging_proxy: RunningProxy, subtests: pytest.Subtests
) -> None:
    for kind in (AnthropicSession, ChatSession):
        proxied.forget()
        proxied.script = EVERYTHING
        with subtests.test(kind.__name__):
            async with aclosing(kind(paging_proxy.url)) as session:
                await session.ask(f"Begin and keep, {kind.__name__}.")
                await session.ask("Go on.")
            found = hidden_results(proxied)
            assert found.count("recall") >= 6
            assert found.count("retain") == 3


async def test_two_sessions_with_the_same_first_words_do_not_mix(
    proxied: Upstream, paging_proxy: RunningProxy
) -> None:
    proxied.script = EVERYTHING
    async with (
        aclosing(AnthropicSession(paging_proxy.url, thinking=THINKING)) as one,
        aclosing(AnthropicSession(paging_proxy.url, thinking=THINKING)) as other,
    ):
        assert await one.ask("Begin as another does.") == "The first prompt is done."
        assert await other.ask("Begin as another does.") == "The first prompt is done."
        assert await one.ask("Go on.") == "The second prompt is done."
        assert await other.ask("Go on in another way.") == "The second prompt is done."
    assert one.seen.called == other.seen.called == CLIENTS_CALLS
    assert_accepted(proxied)


async def test_an_interrupted_client_repeats_its_request(
    proxied: Upstream, paging_proxy: RunningProxy
) -> None:
    """The same request twice, as after a lost connection: both get a response, and nothing doubles."""
    proxied.script = EVERYTHING
    async with aclosing(AnthropicSession(paging_proxy.url)) as session:
        await session.ask("Begin and repeat.")
        kept = list(session.seen.transcript)
        await session.ask("Go on.")
        session.seen.transcript[:] = kept
        assert await session.ask("Go on.") == "The second prompt is done."
    assert proxied.problems == []


async def test_many_turns_only_append(
    proxied: Upstream, paging_proxy: RunningProxy, subtests: pytest.Subtests
) -> None:
    proxied.script = Script([_many(prompt) for prompt in range(3)])
    for name in (
        "anthropic thinking, streamed",
        "openai chat, streamed",
        "openai responses stateless, streamed",
    ):
        with subtests.test(name):
            async with aclosing(CLIENTS[name](paging_proxy.url)) as session:
                for prompt in range(3):
                    assert await session.ask(f"Prompt {prompt}, {name}.") == f"Prompt {prompt} is done."
    assert_accepted(proxied)


def _many(prompt: int) -> list[Step]:
    kinds = ((READ,), (RECALL,), (RECALL, RUN), (RUN, RETAIN), (READ, RUN))
    steps = [
        step(Thinking(f"Thought {number} of prompt {prompt}."), *kinds[number % len(kinds)])
        for number in range(12)
    ]
    return [*steps, step(f"Prompt {prompt} is done.")]
