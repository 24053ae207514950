"""Requests of one conversation are one session; subagents and other conversations are others."""

from dataclasses import replace

from mnemic.proxy.anthropic.api import AnthropicApi
from mnemic.proxy.sessions import identify
from tests.proxy.anthropic.streams import assistant, request, user

API = AnthropicApi()


def test_header_then_body_identify_a_session() -> None:
    conversation = API.read(request(user("Fix it."), metadata={"user_id": "u1"}))
    later = API.read(
        request(user("Fix it."), assistant("Done."), user("Thanks."), metadata={"user_id": "u1"})
    )
    for headers in ({}, {"x-claude-code-session-id": "s1"}, {"x-session-id": "s1"}, {"session_id": "s1"}):
        assert identify(headers, conversation) == identify(headers, later)
    names = {
        identify({"x-session-id": "s1"}, conversation),
        identify({"x-session-id": "s2"}, conversation),
        identify({}, conversation),
        identify({"x-session-id": ""}, replace(conversation, client_session="u2")),
    }
    assert len(names) == 4
    assert identify({}, replace(conversation, client_session="")) is None


def test_subagents_of_a_session_never_share_it() -> None:
    headers = {"x-claude-code-session-id": "s1"}
    names = {
        identify(headers, API.read(request(user(words)))) for words in ("Fix it.", "Search for it.", "Test.")
    }
    assert len(names) == 3


def test_names_fit_into_the_store_and_hold_nothing_private() -> None:
    conversation = API.read(request(user("x"), metadata={"user_id": "alice@example.org" * 1000}))
    for headers in ({}, {"x-session-id": "\ud800" + "z" * 10_000}):
        name = identify(headers, conversation)
        assert name is not None
        assert len(name) <= 256
        assert name.isascii()
        assert "alice" not in name
