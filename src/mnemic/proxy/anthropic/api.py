"""The Anthropic Messages API as `turn.py` uses it."""

from collections.abc import Mapping

from mnemic.proxy.anthropic.reading import ConversationReader, begins_turn, read_conversation
from mnemic.proxy.anthropic.relay import AnthropicRelay
from mnemic.proxy.anthropic.rewriting import rewrite_body
from mnemic.proxy.anthropic.thinking import binding_headers
from mnemic.proxy.errors import error_body
from mnemic.proxy.protocol import ApiName, Body, Changes, Conversation, Reader


class AnthropicApi:
    """Reads, rewrites and relays. Holds no state."""

    name: ApiName = "anthropic"
    items_field = "messages"

    def reader(self, body: Body) -> Reader:
        """A reader that has read no item yet."""
        return ConversationReader(body)

    def begins_turn(self, before: Body, item: Body) -> bool:
        """Whether an item begins a turn of the assistant."""
        return begins_turn(before, item)

    def read(self, body: Body) -> Conversation:
        """The conversation of a request; `Unsure` if the proxy must not touch it."""
        return read_conversation(body)

    def rewrite(self, body: Body, changes: Changes) -> Body:
        """A new body for the provider; the given one is not changed."""
        return rewrite_body(body, changes)

    def extra_headers(self, body: Body, headers: Mapping[str, str]) -> Mapping[str, str]:
        """The beta header, if a rewritten body asks for thinking that does not fit to be ignored."""
        return binding_headers(body, headers)

    def relay(self, body: Body, hidden: frozenset[str], *, previous_id: str = "") -> AnthropicRelay:
        """Begin the response to a rewritten body."""
        return AnthropicRelay(body, hidden)

    def error(self, status: int, message: str) -> bytes:
        """The body of an error of the proxy itself."""
        return error_body("anthropic", status, message)
