"""The beginning of a conversation is the same in every request, and unique after the first call."""

import pytest

from mnemic.proxy.apis import APIS
from mnemic.proxy.beginning import Beginning, ShownTurn
from mnemic.proxy.protocol import ApiName, Body
from tests.proxy.plain_clients import AnthropicClient, ChatClient, PlainClient, ResponsesClient

CLIENTS = (AnthropicClient, ChatClient, ResponsesClient)


def answer(api: ApiName, text: str, call_id: str = "") -> Body:
    """A whole response of a provider."""
    if api == "anthropic":
        call = {"type": "tool_use", "id": call_id, "name": "read", "input": {}}
        return {"content": [{"type": "text", "text": text}, *([call] if call_id else [])]}
    if api == "chat":
        function = {"name": "read", "arguments": "{}"}
        calls = [{"id": call_id, "type": "function", "function": function}] if call_id else None
        return {"choices": [{"message": {"role": "assistant", "content": text, "tool_calls": calls}}]}
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    function_call = {"type": "function_call", "call_id": call_id, "name": "read", "arguments": "{}"}
    return {"output": [item, *([function_call] if call_id else [])]}


def beginning(client: PlainClient) -> Beginning:
    return APIS[client.api].read(client.body()).beginning


def test_beginnings_follow_from_the_turn_before(subtests: pytest.Subtests) -> None:
    """What a request says about its beginning is what was known when the turn before it ended."""
    for kind in CLIENTS:
        client: PlainClient = kind()
        with subtests.test(client.api):
            client.ask("hi")
            known = beginning(client)
            assert not known.digest
            for words, call_id in (("Hello.\n", ""), ("I look.", "call_1"), ("Again.", "call_2")):
                client.take(answer(client.api, words, call_id), ["a result"])
                if not call_id:
                    client.ask("go on")
                expected = known.answered(ShownTurn(f" {words}", [call_id] if call_id else []))
                known = beginning(client)
                assert (known.digest, known.first) == (expected.digest, expected.first)
                assert known.is_unique == bool(call_id)


def test_beginnings_differ_by_words_and_calls(subtests: pytest.Subtests) -> None:
    for kind in CLIENTS:
        seen = []
        for first, text, second, call_id in (
            ("hi", "Hello.", "go on", "call_1"),
            ("hi", "Hello.", "go on", "call_2"),
            ("hi", "Hello.", "go on", ""),
            ("hi", "Hello.", "stop", ""),
            ("hi", "Hello there.", "go on", ""),
            ("ho", "Hello.", "go on", ""),
        ):
            client: PlainClient = kind()
            client.ask(first)
            client.take(answer(client.api, text), [])
            client.ask(second)
            client.take(answer(client.api, "Well.", call_id), ["a result"])
            client.ask("and now?")
            seen.append(beginning(client).digest)
        with subtests.test(kind.__name__):
            assert len(set(seen)) == len(seen)
