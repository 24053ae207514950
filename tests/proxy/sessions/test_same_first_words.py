"""Conversations that begin with the same words, at the same time, share nothing."""

import asyncio
import json
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import httpx
import pytest

from mnemic.proxy.protocol import ApiName
from tests.proxy.plain_clients import AnthropicClient, ChatClient, PlainClient, ResponsesClient
from tests.proxy.running import CALL_TIMEOUT_S, RunningProxy
from tests.proxy.upstream.script import Call, Script, Use, script, step
from tests.proxy.upstream.server import Upstream
from tests.server.running import TLS

PATHS: dict[ApiName, str] = {
    "anthropic": "/v1/messages",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
}
CLIENTS: tuple[Callable[[], PlainClient], ...] = (AnthropicClient, ChatClient, ResponsesClient)
ROWS = 400
RESULTS = 3
"""Results of each conversation, at least."""
MARKS = ("heliotrope", "vermilion", "ultramarine")
RUN, RECALL = Use("bash", "make"), Call("recall", {"query": "what was decided?"})
WORK = [step(RUN), step(RECALL), step("I look.", RUN, RECALL), step(RUN), step("Done.")]
CALLS_AT_ONCE = script(WORK, [step(RUN), step("Bye.")])
WORDS_FIRST = script([step("Hello.")], WORK, [step(RECALL), step(RUN), step("Bye.")])
HIDDEN_FIRST = script([step(RECALL), step("Hello.")], WORK, [step("Bye.")])


def log(mark: str, number: int) -> str:
    """A result that is long enough to be shortened, different in every conversation."""
    return "\n".join(f"{row}: built {mark}_{number}_{row}" for row in range(ROWS))


async def converse(proxy: RunningProxy, client: PlainClient, mark: str, prompts: int) -> None:
    """All prompts of a script; each says the same words in every conversation."""
    headers = {"anthropic-version": "2023-06-01"}
    async with httpx.AsyncClient(
        base_url=proxy.url, headers=headers, timeout=CALL_TIMEOUT_S, verify=TLS
    ) as http:
        for prompt in range(prompts):
            client.ask("hi" if not prompt else f"go on {prompt}")
            for number in range(len(WORK)):
                response = await http.post(PATHS[client.api], json=client.body())
                assert response.status_code == 200, response.text
                client.take(response.json(), [log(mark, 10 * prompt + number)])
                if not sends_results(client):
                    break


def sends_results(client: PlainClient) -> bool:
    """Whether the model has called a tool of the client."""
    body = client.body()
    last = json.dumps((body.get("messages") or body["input"])[-1])
    return any(name in last for name in ("tool_result", "tool_call_id", "function_call_output"))


@pytest.mark.parametrize(
    "given", [CALLS_AT_ONCE, WORDS_FIRST, HIDDEN_FIRST], ids=["calls", "words", "hidden"]
)
async def test_parallel_conversations_with_the_same_words_share_nothing(
    proxied: Upstream, paging_proxy: RunningProxy, subtests: pytest.Subtests, given: Script
) -> None:
    for kind in CLIENTS:
        proxied.forget()
        proxied.script = given
        with subtests.test(kind().api):
            prompts = len(given.prompts)
            await asyncio.gather(*(converse(paging_proxy, kind(), mark, prompts) for mark in MARKS))
            assert proxied.problems == []
            histories = [history(one.body) for one in proxied.turns()]
            assert len(histories) == len(MARKS) * sum(map(len, given.prompts))
            for mark in MARKS:
                own = [each for each in histories if mark in str(each)]
                assert len(own) >= len(WORK)
                assert not any(other in str(own) for other in MARKS if other != mark)
                # The stand-in cannot tell conversations with the same beginning apart; marks can.
                for before, after in pairwise(own):
                    assert after[: len(before)] == before, "requests append"
                assert str(own[-1]).count(mark) < RESULTS * ROWS, "results are shortened"


def history(body: Any) -> list[str]:
    """The messages of a request, without marks of the cache."""
    messages = body.get("messages") or body["input"]
    return [re.sub(r', "cache_control": {[^}]*}', "", json.dumps(message)) for message in messages]
