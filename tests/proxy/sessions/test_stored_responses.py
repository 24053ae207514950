"""Responses that the provider stores are read and deleted by the id that the client knows."""

import openai
import pytest

from tests.proxy.running import RunningProxy
from tests.proxy.sessions.sdk_clients import GPT, SCHEMAS, openai_client
from tests.proxy.upstream.script import Call, script, step
from tests.proxy.upstream.server import Upstream

RECALL = Call("recall", {"query": "what was decided?"})
HELLO = [step("I look.", RECALL), step("Hello.")]


async def test_stored_responses_are_shown_as_they_were_made(
    proxied: Upstream, paging_proxy: RunningProxy
) -> None:
    proxied.script = script(HELLO, [step(RECALL), step("Bye.")])
    tools = [{"type": "function", "name": name, "parameters": schema} for name, schema in SCHEMAS.items()]
    async with openai_client(paging_proxy.url) as client:
        given = {"model": GPT, "tools": tools}
        first = await client.responses.create(input="Say hello and store it.", **given)
        second = await client.responses.create(input="Say goodbye.", previous_response_id=first.id, **given)
        assert second.previous_response_id == first.id
        for made in (first, second):
            stored = await client.responses.retrieve(made.id)
            assert stored.id == made.id
            assert stored.output_text == made.output_text
            assert [item.id for item in stored.output] == [item.id for item in made.output]
            assert {tool.name for tool in stored.tools if tool.type == "function"} == set(SCHEMAS)
        await client.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(first.id)
    assert proxied.problems == []
