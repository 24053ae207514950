"""The body of a Chat Completions request for the provider."""

from collections.abc import Iterable, Iterator

from mnemic.proxy.chat.messages import (
    follow,
    is_text_only,
    key_of_turn,
    opening_messages,
    tool_definition,
    with_text,
)
from mnemic.proxy.protocol import Body, Changes
from mnemic.proxy.turn_keys import Answered


def rewrite_body(body: Body, changes: Changes) -> Body:
    """A new body: hidden turns inserted, results shortened, hidden tools offered."""
    rewritten = {**body, "messages": list(_messages(body["messages"], changes))}
    if changes.tools and body.get("tools"):
        rewritten["tools"] = [*body["tools"], *map(tool_definition, changes.tools)]
    return rewritten


def _messages(messages: Iterable[Body], changes: Changes) -> Iterator[Body]:
    opening = changes.opening
    inserted: set[str] = set()
    answered = Answered()
    for message in messages:
        if not changes.exchanges:
            # Nothing is inserted for a turn, so none has to be recognised.
            yield _shortened(message, changes)
        elif message["role"] == "assistant":
            key = key_of_turn(message, answered.key)
            if key in changes.exchanges and key not in inserted:
                inserted.add(key)
                exchange = changes.exchanges[key]
                yield from exchange.items
                yield from exchange.results
            else:
                yield message
        else:
            follow(answered, message)
            yield _shortened(message, changes)
        if message["role"] == "user" and opening is not None:
            yield from opening_messages(opening)
            opening = None


def _shortened(message: Body, changes: Changes) -> Body:
    """A message with the text that the pager decided."""
    if message["role"] != "tool" or not is_text_only(message.get("content")):
        return message
    text = changes.replaced.get(message["tool_call_id"])
    return message if text is None else {**message, "content": with_text(message["content"], text)}
