"""The three APIs read and rewrite what real agents send."""

import copy
from itertools import pairwise

import pytest

from mnemic.context.entry import Entry
from mnemic.proxy.apis import APIS
from mnemic.proxy.protocol import Changes, Conversation, HiddenTool, Unsure
from mnemic.proxy.sessions import identify
from tests.proxy.recorded import Recorded, recorded_requests
from tests.proxy.upstream.anthropic_api import AnthropicApi
from tests.proxy.upstream.api import Api, Reading
from tests.proxy.upstream.chat_api import ChatApi
from tests.proxy.upstream.identifiers import Identifiers
from tests.proxy.upstream.responses_api import ResponsesApi
from tests.proxy.upstream.rules import Rules

REQUESTS = list(recorded_requests())
CONVERSATIONS = [one for one in REQUESTS if not one.is_side_request and not one.is_compaction]
TOOLS = (HiddenTool("recall", "Search the memory.", {"type": "object", "properties": {}}),)
STUB = "This result was shortened."


class Unbound:
    """Thinking is not bound: cutting changed what was before it."""

    rules = Rules(binding="off")


def provider(recorded: Recorded) -> Api:
    """The checks of the provider."""
    apis: dict[str, Api] = {
        "anthropic": AnthropicApi(Unbound(), Identifiers()),
        "chat": ChatApi(Identifiers()),
        "responses": ResponsesApi(Identifiers()),
    }
    return apis[recorded.api]


def check(recorded: Recorded, body: dict[str, object]) -> Reading:
    """Raises what the provider would answer."""
    return provider(recorded).read(body, recorded.headers, ())


def read(recorded: Recorded) -> Conversation:
    return APIS[recorded.api].read(recorded.body)


def results(conversation: Conversation) -> list[Entry]:
    return [entry for entry in conversation.entries if entry.role == "result"]


def test_there_are_requests_of_every_agent_and_api() -> None:
    assert len({one.name.rpartition(" ")[0] for one in REQUESTS}) == 6
    assert {one.api for one in CONVERSATIONS} == {"anthropic", "chat", "responses"}
    assert any(one.is_compaction for one in REQUESTS)
    assert sum(one.is_side_request for one in REQUESTS) == 2


def test_side_requests_and_compactions_are_passed_on(subtests: pytest.Subtests) -> None:
    for recorded in REQUESTS:
        if recorded not in CONVERSATIONS:
            with subtests.test(recorded.name), pytest.raises(Unsure):
                read(recorded)


def test_conversations_are_read(subtests: pytest.Subtests) -> None:
    for recorded in CONVERSATIONS:
        with subtests.test(recorded.name):
            conversation = read(recorded)
            calls = [
                entry.key.removeprefix("call:") for entry in conversation.entries if entry.role == "call"
            ]
            assert calls == [entry.key for entry in results(conversation)]
            assert all(entry.is_pageable and entry.tool for entry in results(conversation))
            assert conversation.is_streamed
            assert conversation.fixed_chars > 0
            keys = [entry.key for entry in conversation.entries]
            assert len(set(keys)) == len(keys)
            assert conversation.at_user_turn == (not calls)


def test_requests_of_one_session_have_one_identity(subtests: pytest.Subtests) -> None:
    for first, second in pairwise(CONVERSATIONS):
        if first.name.rpartition(" ")[0] == second.name.rpartition(" ")[0]:
            with subtests.test(second.name):
                assert identify(first.headers, read(first)) == identify(second.headers, read(second))
                before = [entry.key for entry in read(first).entries]
                assert [entry.key for entry in read(second).entries][: len(before)] == before


def test_without_changes_the_body_stays_the_same(subtests: pytest.Subtests) -> None:
    for recorded in CONVERSATIONS:
        with subtests.test(recorded.name):
            given = copy.deepcopy(recorded.body)
            assert APIS[recorded.api].rewrite(given, Changes()) == recorded.body
            assert given == recorded.body


def test_rewritten_requests_are_valid(subtests: pytest.Subtests) -> None:
    for recorded in CONVERSATIONS:
        with subtests.test(recorded.name):
            replaced = {entry.key: STUB for entry in results(read(recorded))}
            changes = Changes(replaced=replaced, tools=TOOLS, opening="Remembered: nothing much.")
            body = APIS[recorded.api].rewrite(recorded.body, changes)
            before, after = check(recorded, recorded.body), check(recorded, body)
            assert [tool.name for tool in after.tools] == [*(tool.name for tool in before.tools), "recall"]
            assert before.ids < after.ids, "calls of the client stay, and the opening is one more"
            shortened = [unit for unit in after.units if STUB in unit.text]
            assert sum(unit.text.count(STUB) for unit in shortened) == len(replaced)
            marked = [unit.text for unit in before.units if unit.is_breakpoint and STUB not in unit.text]
            assert len(marked) <= sum(unit.is_breakpoint for unit in after.units) <= 4


def test_rewriting_is_append_only(subtests: pytest.Subtests) -> None:
    """The same changes make requests of which each repeats the one before."""
    for first, second in pairwise(CONVERSATIONS):
        if first.name.rpartition(" ")[0] != second.name.rpartition(" ")[0]:
            continue
        replaced = {entry.key: STUB for entry in results(read(second))}
        changes = Changes(replaced=replaced, tools=TOOLS, opening="Remembered: nothing much.")
        with subtests.test(second.name):
            units = [
                [unit.text for unit in check(one, APIS[one.api].rewrite(one.body, changes)).units]
                for one in (first, second)
            ]
            assert units[1][: len(units[0])] == units[0]
