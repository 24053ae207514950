"""The Responses API, for the flow of a request."""

from collections.abc import Mapping

from mnemic.proxy.errors import error_body
from mnemic.proxy.protocol import ApiName, Body, Changes, Conversation, Reader
from mnemic.proxy.responses.reading import ConversationReader, begins_turn, read_conversation
from mnemic.proxy.responses.relay import ResponsesRelay
from mnemic.proxy.responses.rewriting import rewrite_body


class ResponsesApi:
    """See `mnemic.proxy.protocol.Api`."""

    name: ApiName = "responses"
    items_field = "input"

    def reader(self, body: Body) -> Reader:
        """A reader that has read no item yet."""
        return ConversationReader(body)

    def begins_turn(self, before: Body, item: Body) -> bool:
        """Whether an item begins a turn of the assistant."""
        return begins_turn(before, item)

    def read(self, body: Body) -> Conversation:
        """The conversation of a request; `Unsure` if it holds something unknown, or needs no memory."""
        return read_conversation(body)

    def rewrite(self, body: Body, changes: Changes) -> Body:
        """A new body for the provider; the given one is not changed."""
        return rewrite_body(body, changes)

    def relay(self, body: Body, hidden: frozenset[str], *, previous_id: str = "") -> ResponsesRelay:
        """Begin the response to a rewritten body."""
        return ResponsesRelay(body, hidden, previous_id=previous_id)

    def extra_headers(self, body: Body, headers: Mapping[str, str]) -> Mapping[str, str]:
        """None: a rewritten body needs no other headers."""
        return {}

    def error(self, status: int, message: str) -> bytes:
        """The body of an error of the proxy itself."""
        return error_body("openai", status, message)
