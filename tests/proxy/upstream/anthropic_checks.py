"""What the Anthropic Messages API rejects, in its own words: clients look for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.proxy.upstream import thinking
from tests.proxy.upstream.api import Body, Invalid
from tests.proxy.upstream.rules import Binding

BREAKPOINTS_MAX = 4
BINDING_BETA = "thinking-binding-controls-2026-08-01"
ROLES = ("user", "assistant", "system")


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """The blocks of a message; a string is one text."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def check(body: Body, headers: Mapping[str, str], binding: Binding) -> tuple[str, ...]:
    """Raise `Invalid`, or return the paths of thinking blocks that are dropped."""
    if "anthropic-version" not in headers:
        raise Invalid("anthropic-version: header is required")
    if "max_tokens" not in body:
        raise Invalid("max_tokens: Field required")
    messages = body.get("messages")
    if not messages:
        raise Invalid("messages: at least one message is required")
    _check_breakpoints(body)
    _check_tools(body.get("tools") or [])
    _check_content(messages)
    _check_pairs(messages)
    _check_first_thought(body)
    return _check_thinking(body, headers, binding)


def _check_breakpoints(body: Body) -> None:
    found = _breakpoints([body.get("tools"), body.get("system"), body["messages"]])
    found += 1 if body.get("cache_control") else 0
    if found > BREAKPOINTS_MAX:
        raise Invalid(f"A maximum of 4 blocks with cache_control may be provided. Found {found}.")


def _breakpoints(value: Any) -> int:
    """Those of blocks and of what is inside of tool results, but not of what a tool was called with."""
    if isinstance(value, list):
        return sum(map(_breakpoints, value))
    if isinstance(value, dict):
        inner = value.get("content")
        return (1 if value.get("cache_control") else 0) + (
            _breakpoints(inner) if isinstance(inner, list) else 0
        )
    return 0


def _check_tools(tools: Sequence[Mapping[str, Any]]) -> None:
    names = [tool.get("name") for tool in tools]
    if len(names) != len(set(names)):
        raise Invalid("tools: Tool names must be unique.")


def _check_content(messages: Sequence[Body]) -> None:
    if messages[0].get("role") != "user":
        raise Invalid('messages: first message must use the "user" role')
    for number, message in enumerate(messages):
        if message.get("role") not in ROLES:
            raise Invalid(f"messages.{number}.role: unexpected role {message.get('role')}")
        blocks = blocks_of(message.get("content"))
        if not blocks and (number < len(messages) - 1 or message["role"] != "assistant"):
            raise Invalid(
                f"messages.{number}: all messages must have non-empty content except for the optional final "
                "assistant message"
            )
        for place, block in enumerate(blocks):
            _check_text(f"messages.{number}.content.{place}", block)


def _check_text(path: str, block: Mapping[str, Any]) -> None:
    if block.get("type") == "text" and not str(block.get("text", "")).strip():
        raise Invalid(f"{path}.text: text content blocks must contain non-whitespace text")
    if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
        for place, inner in enumerate(block["content"]):
            _check_text(f"{path}.content.{place}", inner)


def _check_pairs(messages: Sequence[Body]) -> None:
    """Every call is answered in the next message of the user, results first; ids are unique."""
    pending: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        blocks = blocks_of(message.get("content"))
        if message["role"] == "assistant":
            _check_answered(number, pending, [])
            pending = [block["id"] for block in blocks if block.get("type") == "tool_use"]
            if len(set(pending)) < len(pending) or seen & set(pending):
                raise Invalid(f"messages.{number}: `tool_use` ids must be unique")
            seen |= set(pending)
        elif message["role"] == "user":
            _check_results(number, blocks, pending)
            pending = []
    _check_answered(len(messages), pending, [])


def _check_results(number: int, blocks: Sequence[Mapping[str, Any]], pending: Sequence[str]) -> None:
    results = [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"]
    if len(set(results)) < len(results):
        raise Invalid(f"messages.{number}: each tool_use must have a single result")
    _check_answered(number, pending, results)
    unknown = [result for result in results if result not in pending]
    if unknown:
        raise Invalid(
            f"messages.{number}.content: unexpected `tool_use_id` found in `tool_result` blocks: "
            f"{', '.join(unknown)}. Each `tool_result` block must have a corresponding `tool_use` "
            "block in the "
            "previous message."
        )
    kinds = [block.get("type") == "tool_result" for block in blocks]
    if kinds != sorted(kinds, reverse=True):
        raise Invalid(
            f"messages.{number}: `tool_result` blocks must come first in the content of the user message"
        )


def _check_answered(number: int, pending: Sequence[str], results: Sequence[str]) -> None:
    missing = [call for call in pending if call not in results]
    if missing:
        raise Invalid(
            f"messages.{number - 1}: `tool_use` ids were found without `tool_result` blocks "
            "immediately after: "
            f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` "
            "block in the "
            "next message."
        )


def is_prompt(message: Body) -> bool:
    """Whether a message holds words of the user, and no results of tools."""
    blocks = blocks_of(message.get("content"))
    return message["role"] == "user" and not any(block.get("type") == "tool_result" for block in blocks)


def _check_first_thought(body: Body) -> None:
    """With thinking enabled, the last turn of the assistant begins with thinking if it calls tools."""
    if (body.get("thinking") or {}).get("type") != "enabled":
        return
    messages = body["messages"]
    last_prompt = max((n for n, message in enumerate(messages) if is_prompt(message)), default=-1)
    turn = [
        (number, blocks_of(message.get("content")))
        for number, message in enumerate(messages)
        if number > last_prompt and message["role"] == "assistant"
    ]
    if not any(block.get("type") == "tool_use" for _, blocks in turn for block in blocks):
        return
    number, blocks = turn[0]
    if blocks[0].get("type") not in thinking.THOUGHTS:
        raise Invalid(
            f"messages.{number}.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            f"`{blocks[0].get('type')}`. When `thinking` is enabled, a final `assistant` message must "
            "start with a "
            "thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        )


def _check_thinking(body: Body, headers: Mapping[str, str], binding: Binding) -> tuple[str, ...]:
    drops = _asks_to_drop(body, headers) or binding == "drop"
    prefix = thinking.Prefix(body.get("system"), body.get("tools"))
    previous: str | None = None
    dropped: list[str] = []
    for number, message in enumerate(body["messages"]):
        for place, block in enumerate(blocks_of(message.get("content"))):
            prefix.add(message["role"], block)
            if block.get("type") != "thinking":
                continue
            path = f"messages.{number}.content.{place}"
            if not thinking.text_is_intact(block):
                raise Invalid(f"{path}: Invalid `signature` in `thinking` block")
            if binding != "off" and not thinking.fits(block, prefix.value(), previous):
                dropped.append(_dropped(path, allowed=drops))
            previous = block["signature"]
    return tuple(dropped)


def _dropped(path: str, *, allowed: bool) -> str:
    if not allowed:
        raise Invalid(
            f"{path}: Invalid `signature` in `thinking` block. The block is bound to a different "
            "conversation. "
            'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
        )
    return path


def _asks_to_drop(body: Body, headers: Mapping[str, str]) -> bool:
    control = (body.get("thinking") or {}).get("block_binding")
    if control is None:
        return False
    if BINDING_BETA not in headers.get("anthropic-beta", ""):
        raise Invalid("thinking.block_binding: Extra inputs are not permitted")
    return bool(control.get("prefix_mismatch_behavior") == "drop_block")
