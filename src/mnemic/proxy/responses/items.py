"""Items of the Responses API."""

from collections.abc import Iterable
from typing import Any

from mnemic.proxy.beginning import ShownTurn
from mnemic.proxy.chat.messages import OPENING_ARGUMENTS, OPENING_CALL_ID
from mnemic.proxy.json_text import load_object
from mnemic.proxy.opening_call import OPENING_TOOL
from mnemic.proxy.protocol import Body, HiddenTool
from mnemic.proxy.turn_keys import Answered

INSTRUCTION_ROLES = frozenset({"system", "developer"})
CALLS = frozenset(
    {
        "apply_patch_call",
        "computer_call",
        "custom_tool_call",
        "function_call",
        "local_shell_call",
        "shell_call",
        "tool_search_call",
    }
)
"""Calls that the client executes; each has an output."""
OUTPUTS = {
    "apply_patch_call_output": "apply_patch_call",
    "computer_call_output": "computer_call",
    "custom_tool_call_output": "custom_tool_call",
    "function_call_output": "function_call",
    "local_shell_call_output": "local_shell_call",
    "shell_call_output": "shell_call",
    "tool_search_output": "tool_search_call",
}
BUILT_IN_CALLS = frozenset(
    {
        "code_interpreter_call",
        "file_search_call",
        "image_generation_call",
        "mcp_approval_request",
        "mcp_call",
        "mcp_list_tools",
        "web_search_call",
    }
)
"""Calls that the provider executes, or asks about, within its response."""
MADE_BY_MODEL = CALLS | BUILT_IN_CALLS | {"compaction", "compaction_summary", "item_reference", "reasoning"}
KNOWN = (
    MADE_BY_MODEL
    | OUTPUTS.keys()
    | {"additional_tools", "compaction_trigger", "mcp_approval_response", "message"}
)
TEXT_PARTS = frozenset({"input_text", "output_text", "text", "summary_text", "refusal"})


def type_of(item: Body) -> str:
    """The type of an item; a message may leave it out."""
    return str(item.get("type") or ("message" if "role" in item else ""))


def is_made_by_model(item: Body) -> bool:
    """Whether an item is part of a turn of the assistant."""
    if type_of(item) == "message":
        return item.get("role") == "assistant"
    return type_of(item) in MADE_BY_MODEL and not is_run_by_provider(item)


def is_run_by_provider(item: Body) -> bool:
    """Whether a search for tools ran at the provider: it comes with its output, in one response."""
    return type_of(item) in ("tool_search_call", "tool_search_output") and item.get("execution") == "server"


def is_hidden_call(item: Body, hidden: frozenset[str]) -> bool:
    """Whether an item calls a tool that the proxy answers. Tools of a namespace are the client's."""
    return item.get("type") == "function_call" and item.get("name") in hidden and not item.get("namespace")


def text_of(content: Any) -> str:
    """The text of a message or an output: a string, or its parts of text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(text for part in content if (text := _part_text(part)))


def is_text_only(content: Any) -> bool:
    """Whether an output is nothing but text."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(p, dict) and p.get("type") == "input_text" for p in content)
    return isinstance(content, str)


def with_text(content: Any, text: str) -> Any:
    """An output with another text, in the same form."""
    return [{**content[-1], "text": text}] if isinstance(content, list) else text


def is_opening(item: Body) -> bool:
    """Whether the proxy added an item, to bring recalled memories."""
    return item.get("call_id") == OPENING_CALL_ID


def name_of(item: Body) -> str:
    """The tool that a call is for. Built-in tools are named by their type."""
    return str(item.get("name") or type_of(item).removesuffix("_call"))


def arguments_of(item: Body) -> dict[str, Any]:
    """The arguments of a call."""
    if type_of(item) == "custom_tool_call":
        return {"input": item.get("input", "")}
    if isinstance(item.get("arguments"), dict):
        return dict(item["arguments"])
    action = item.get("action") or item.get("operation")
    return dict(action) if isinstance(action, dict) else load_object(item.get("arguments"))


def follow(answered: Answered, item: Body) -> None:
    """Note what the next turn of the assistant answers."""
    if item.get("role") == "user":
        answered.user(text_of(item.get("content")))
    elif type_of(item) in OUTPUTS and not is_opening(item):
        answered.result(str(item.get("call_id")))


def items_of(body: Body) -> list[Body]:
    """The input of a request as items; a string is a message of the user."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return list(given or [])


def assistant_text(items: Iterable[Body]) -> str:
    """What the assistant says in items."""
    messages = (item for item in items if type_of(item) == "message" and item.get("role") == "assistant")
    return "\n".join(text_of(item.get("content")) for item in messages)


def shown_turn(items: Iterable[Body]) -> ShownTurn:
    """What identifies a turn of the assistant at the beginning of a conversation."""
    made = list(items)
    return ShownTurn(assistant_text(made), [str(item["call_id"]) for item in made if item.get("call_id")])


def tool_definition(tool: HiddenTool) -> Body:
    """A tool as this API wants it."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "strict": False,
    }


def call_output(call_id: str, text: str) -> Body:
    """The output of a call."""
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def opening_items(text: str) -> list[Body]:
    """Recalled memories, as if the model had asked for them.

    The call has no `id`: the provider looks for the reasoning before a call only by the ids that it gave.
    """
    call = {
        "type": "function_call",
        "call_id": OPENING_CALL_ID,
        "name": OPENING_TOOL,
        "arguments": OPENING_ARGUMENTS,
    }
    return [call, call_output(OPENING_CALL_ID, text)]


def _part_text(part: Any) -> str:
    if not isinstance(part, dict) or part.get("type") not in TEXT_PARTS:
        return ""
    text = part.get("refusal") if part["type"] == "refusal" else part.get("text")
    return text if isinstance(text, str) else ""
