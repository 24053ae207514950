"""What the proxy needs from each API that it speaks. `turn.py` runs a request through one of them.

A request takes these steps. `Api.read` gives the conversation of a body, or raises `Unsure`. The pager
decides. `Api.rewrite` makes the body for the provider. A `Relay` turns each response of the provider into
what the client sees, and hides the calls of memory tools. While a response calls only hidden tools, the
proxy answers them and asks again (`Relay.continued`); the client sees one response. If a response also
calls tools of the client, the client's turn ends; the hidden calls and their results are stored as an
`Exchange`, and inserted again into every later request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

from mnemic.context.entry import Entry
from mnemic.proxy.beginning import Beginning, ShownTurn

Body = dict[str, Any]
ApiName = Literal["anthropic", "chat", "responses"]


CAPPED = "(The turn ended here: it asked the memory too many times.)"
"""What the client sees of a turn that would have nothing to show: most clients drop an empty turn."""


class Unsure(Exception):
    """The request holds something that the proxy does not know: forward the original bytes."""


class Compaction(Unsure):
    """The client asks the model to summarise the conversation.

    The original bytes are right unless earlier requests of the session were changed in a way that they need:
    see `needs_rewriting`. Then the session's changes apply, and the pager decides nothing new.
    """

    def __init__(self, message: str, conversation: "Conversation") -> None:
        super().__init__(message)
        self.conversation = conversation

    def needs_rewriting(self, changes: "Changes") -> bool:
        """Whether the original may not fit the window, or holds thinking that fits only the changed one."""
        return bool(changes.replaced) or self.conversation.has_thinking


@dataclass(frozen=True, slots=True)
class HiddenTool:
    """A tool that the proxy offers to the model and answers itself."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON Schema of its arguments."""


@dataclass(frozen=True, slots=True)
class HiddenCall:
    """A call of a hidden tool."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the pager needs to know about a request."""

    model: str
    entries: tuple[Entry, ...]
    root: bytes
    """SHA-256 of the user's first message: tells subagents and compacted conversations of a client apart."""
    tool_names: frozenset[str]
    is_streamed: bool
    has_thinking: bool
    at_user_turn: bool
    """Whether the last entry holds words of the user, and not results of tools."""
    fixed_chars: int
    """Characters of instructions and tool definitions."""
    client_session: str = ""
    """Identity in the body, such as Anthropic's `metadata.user_id`; the caller reads headers."""
    previous_id: str = ""
    """Responses API: id of the response that a request continues, as the client knows it.

    The provider holds everything before: `entries` are only what is new, and nothing of it is pageable. The
    session is that of the response (`exchanges.session_of_response`); `root` is only a hash of the id.
    """
    last_turn: str = ""
    """Key of the assistant's last turn."""
    open_turn: str = ""
    """Key of the first turn whose thinking must stay, because results of its calls are being sent."""
    beginning: Beginning = field(default_factory=Beginning)
    """Names the session of a client that does not."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What the provider's transcript holds in place of one turn of the client's."""

    key: str
    """Identifies the assistant's turn as the client has it: ids of its calls, else a hash of its text."""
    items: Sequence[Body]
    """Messages (or items) that replace the client's turn, in order."""
    results: Sequence[Body] = ()
    """Results of hidden calls that go before the client's own results, in its next message."""
    response_ids: Mapping[str, str] = field(default_factory=dict)
    """Responses API: id that the client knows → id that the provider knows."""


@dataclass(frozen=True, slots=True)
class ThinkingCut:
    """Thinking that no longer fits, because what was before it changed: it is cut in all later requests."""

    first: str
    """Key of the first entry that changed; empty for the beginning."""
    last: str
    """Key of the assistant's last turn at that time: later thinking fits."""
    kept_from: str = ""
    """Key of the first turn whose thinking had to stay, although it does not fit; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Changes:
    """How the provider's body differs from the client's."""

    exchanges: Mapping[str, Exchange] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    """Text of results by the key of their entry."""
    tools: Sequence[HiddenTool] = ()
    opening: str | None = None
    """Recalled memories, inserted as the result of a hidden call at the start of the conversation."""
    drops_thinking: bool = False
    """Whether earlier thinking no longer fits, because an epoch rewrote what was before it."""
    cuts: Sequence[ThinkingCut] = ()
    """Which thinking that is, where the API needs to know exactly (Anthropic)."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event of a stream, with the bytes that it came as."""

    name: str
    data: bytes
    raw: bytes


@dataclass(frozen=True, slots=True)
class Round:
    """One response of the provider, complete."""

    hidden: tuple[HiddenCall, ...]
    calls_client: bool
    """Whether it also calls tools of the client."""
    text: str
    """What the assistant said, for the record."""
    client_calls: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    """Calls of the client's tools: id, name, arguments."""
    prompt_tokens: int = 0
    """Tokens of the prompt that the provider reported, cached ones included."""
    cached_tokens: int = 0
    output_tokens: int = 0
    is_complete: bool = True
    """False if the stream ended early or with an error."""
    response_id: str = ""
    """Responses API: id under which the client knows the response, if the provider stores it."""


class Relay(Protocol):
    """The response to one request of the client, over one or more responses of the provider."""

    def feed(self, event: ServerSentEvent) -> bytes:
        """What the client sees of an event; empty if nothing. Unknown events are passed on."""

    def whole(self, body: Body, raw: bytes = b"") -> None:
        """Take a response that was not streamed, and the bytes that it came as."""

    def end_round(self) -> Round:
        """After the last event of a response of the provider."""

    def continued(self, results: Mapping[str, str]) -> Body:
        """The body of the next request: the last one, the response, and results of hidden calls by id."""

    def exchange(self, results: Mapping[str, str]) -> Exchange | None:
        """What to store before the client sees the end; None if both transcripts hold the same turn.

        `results` are those of the hidden calls of the last response, if it also calls tools of the client.
        """

    def shown(self) -> ShownTurn:
        """The turn as the client will send it back."""

    def finish(self) -> bytes:
        """The end of the stream for the client; for a response that was not streamed, its body.

        After an incomplete round: what was held back, so that the client sees all that came.
        """

    def fail(self, status: int, body: bytes) -> bytes:
        """An error of the provider after the stream began, as an event of this API."""


class Reader(Protocol):
    """Reads the conversation of a body, a part at a time."""

    def copy(self) -> Self:
        """A reader that has read the same; each goes on by itself."""

    def read(self, items: Sequence[Body]) -> None:
        """Read the next messages or items; `Unsure` if they hold something unknown."""

    def conversation(self) -> Conversation:
        """What was read; `Unsure` if it cannot end here, or needs no memory."""


class Api(Protocol):
    """One of the APIs."""

    name: ApiName
    items_field: str
    """The field of a body that holds the messages or items."""

    def reader(self, body: Body) -> Reader:
        """A reader that knows all fields of a body but has read no item; `Unsure` as `read`."""

    def begins_turn(self, before: Body, item: Body) -> bool:
        """Whether an item begins a turn of the assistant, so that a reader may stop after the one before."""

    def read(self, body: Body) -> Conversation:
        """The conversation of a request; `Unsure` if it holds something unknown, or needs no memory."""

    def rewrite(self, body: Body, changes: Changes) -> Body:
        """A new body for the provider; the given one is not changed."""

    def extra_headers(self, body: Body, headers: Mapping[str, str]) -> Mapping[str, str]:
        """Headers of the client that a rewritten body needs changed, by name in lower case."""

    def relay(self, body: Body, hidden: frozenset[str], *, previous_id: str = "") -> Relay:
        """Begin the response to a rewritten body; `hidden` names the tools that the proxy answers.

        `previous_id` is that of `Conversation`.
        """

    def error(self, status: int, message: str) -> bytes:
        """The body of an error of the proxy itself, in the shape of this API."""
