"""Messages of the Chat Completions API."""

from collections.abc import Iterable
from typing import Any

from mnemic.proxy.json_text import dump_json
from mnemic.proxy.opening_call import OPENING_QUERY, OPENING_TOOL
from mnemic.proxy.protocol import Body, HiddenTool
from mnemic.proxy.turn_keys import Answered, turn_key

OPENING_CALL_ID = "call_recall_opening"
"""Id of the call that brings recalled memories: the same in every request, for the provider's cache."""
OPENING_ARGUMENTS = dump_json({"query": OPENING_QUERY}).decode()
NOT_ANSWERED = "No answer: too many calls of memory tools in one turn."
"""Result of hidden calls that nobody answered: the provider wants one for every call."""
INSTRUCTION_ROLES = frozenset({"system", "developer"})
KNOWN_ROLES = INSTRUCTION_ROLES | {"user", "assistant", "tool"}


def text_of(content: Any) -> str:
    """The text of a message: a string, or its parts of text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(text for part in content if (text := _part_text(part)))


def is_text_only(content: Any) -> bool:
    """Whether a content is nothing but text."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(p, dict) and p.get("type") == "text" for p in content)
    return isinstance(content, str)


def with_text(content: Any, text: str) -> Any:
    """A content with another text, in the same form. Marks of the last part, such as its cache, stay."""
    return [{**content[-1], "text": text}] if isinstance(content, list) else text


def calls_of(message: Body) -> list[Body]:
    """The calls of a message of the assistant."""
    return message.get("tool_calls") or []


def name_of(call: Body) -> str:
    """The tool that a call is for: a function, or a custom tool with free text."""
    return str((call.get("function") or call.get("custom") or {}).get("name") or "")


def follow(answered: Answered, message: Body) -> None:
    """Note what the next turn of the assistant answers."""
    if message["role"] == "user":
        answered.user(text_of(message.get("content")))
    elif message["role"] == "tool" and message.get("tool_call_id") != OPENING_CALL_ID:
        answered.result(str(message.get("tool_call_id")))


def answered_by(messages: Iterable[Body]) -> str:
    """The key of what the response to these messages answers."""
    answered = Answered()
    for message in messages:
        follow(answered, message)
    return answered.key


def key_of_turn(message: Body, answers: str) -> str:
    """The key of a message of the assistant."""
    ids = [str(call.get("id")) for call in calls_of(message)]
    return turn_key(ids, text=text_of(message.get("content")), answers=answers)


def tool_definition(tool: HiddenTool) -> Body:
    """A tool as this API wants it."""
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def tool_message(call_id: str, text: str) -> Body:
    """The result of a call."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def opening_messages(text: str) -> list[Body]:
    """Recalled memories, as if the model had asked for them."""
    call = {
        "id": OPENING_CALL_ID,
        "type": "function",
        "function": {"name": OPENING_TOOL, "arguments": OPENING_ARGUMENTS},
    }
    assistant = {"role": "assistant", "content": None, "tool_calls": [call]}
    return [assistant, tool_message(OPENING_CALL_ID, text)]


def _part_text(part: Any) -> str:
    if not isinstance(part, dict):
        return ""
    text = part.get("text") if part.get("type") == "text" else part.get("refusal")
    return text if isinstance(text, str) else ""
