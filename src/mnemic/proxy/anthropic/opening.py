"""Recalled memories at the start of a session.

They arrive as the result of a call, because models take results as data and not as instructions. The call is
a turn of its own before the first message of the client, ended by words of the assistant. Were it the last
turn of the assistant, the API would reject the request whenever `thinking` is enabled: a turn whose results
are being sent must begin with a thinking block, and only a model can sign one. A turn that has ended needs
none. The same arrangement serves all requests, because clients switch thinking on and off within a session.
"""

from collections.abc import Sequence

from mnemic.proxy.opening_call import OPENING_QUERY, OPENING_TOOL
from mnemic.proxy.protocol import Body

OPENING_CALL_ID = "toolu_mnemic_opening"
OPENING_MESSAGES = 4

_REQUEST = "Look up what the memory holds about this user and this work."
_END = "I will consider it where it helps."


def opening_messages(text: str) -> list[Body]:
    """The turn that recalls memories."""
    call = {
        "type": "tool_use",
        "id": OPENING_CALL_ID,
        "name": OPENING_TOOL,
        "input": {"query": OPENING_QUERY},
    }
    result = {"type": "tool_result", "tool_use_id": OPENING_CALL_ID, "content": text}
    return [
        {"role": "user", "content": [{"type": "text", "text": _REQUEST}]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": _END}]},
    ]


def has_opening(messages: Sequence[Body]) -> bool:
    """Whether rewritten messages begin with an opening."""
    if len(messages) < OPENING_MESSAGES:
        return False
    content = messages[1].get("content")
    return isinstance(content, list) and bool(content) and content[0].get("id") == OPENING_CALL_ID
