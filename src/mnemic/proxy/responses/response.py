"""One response of the provider, as far as it has arrived."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mnemic.proxy.protocol import Body, ServerSentEvent
from mnemic.proxy.responses.items import CALLS, is_hidden_call, is_run_by_provider, type_of


@dataclass(slots=True)
class Response:
    """One response of the provider."""

    hidden_names: frozenset[str]
    body: Body | None = None
    """The response object, when it has ended."""
    end: ServerSentEvent | None = None
    """The event that ended it, in a stream."""
    end_data: Body = field(default_factory=dict)
    failed: bool = False
    response_id: str = ""
    done: dict[int, Body] = field(default_factory=dict)
    """Items that a stream completed, by their index."""
    hidden_indexes: set[int] = field(default_factory=set)
    shown_indexes: dict[int, int] = field(default_factory=dict)
    """Index of an item → index that the client sees."""

    @property
    def is_ended(self) -> bool:
        return self.body is not None and not self.failed

    @property
    def is_cut(self) -> bool:
        """Whether its last call may be incomplete."""
        return bool((self.body or {}).get("status", "completed") != "completed")

    @property
    def usage(self) -> Body:
        return (self.body or {}).get("usage") or {}

    def items(self) -> list[Body]:
        """What the model made. Some providers leave the output of the last event empty."""
        if self.done:
            return [self.done[index] for index in sorted(self.done)]
        return list((self.body or {}).get("output") or [])

    def hidden(self) -> list[Body]:
        return [item for item in self.items() if is_hidden_call(item, self.hidden_names)]

    def shown(self) -> list[Body]:
        return [item for item in self.items() if not is_hidden_call(item, self.hidden_names)]

    def client_calls(self) -> list[Body]:
        """Calls that the client executes."""
        return [item for item in self.shown() if type_of(item) in CALLS and not is_run_by_provider(item)]

    def asks_client(self) -> bool:
        """Whether only the client can go on: it executes a call, or approves one."""
        return bool(self.client_calls()) or any(
            type_of(item) == "mcp_approval_request" for item in self.items()
        )


def as_input(items: Sequence[Body], *, is_stored: bool) -> list[Body]:
    """Items of a response as input of the next request.

    The provider finds reasoning by its id only if it stored it; otherwise it needs the encrypted content. It
    wants the reasoning before an item if it knows the item's id, so ids go where reasoning goes.
    """
    lost = [item for item in items if type_of(item) == "reasoning" and not item.get("encrypted_content")]
    if is_stored or not lost:
        return list(items)
    kept = (item for item in items if item not in lost)
    return [{name: value for name, value in item.items() if name != "id"} for item in kept]


def without_calls(items: Sequence[Body], dropped: Sequence[Body]) -> list[Body]:
    """Items without some calls, and without the reasoning that has no following item any more."""
    kept: list[Body] = []
    for item in items:
        if item not in dropped:
            kept.append(item)
            continue
        while kept and type_of(kept[-1]) == "reasoning":
            kept.pop()
    return kept
