"""Responses that the provider stores, under the ids that the client knows.

The client knows a response by the id of the provider's first response; its end is in the last one. A path
such as `/v1/responses/{id}` goes to the last, and what comes back is shown as the first.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from mnemic.proxy.protocol import Body, Exchange
from mnemic.proxy.responses.items import is_hidden_call

_PATH = re.compile(r"(.*/responses/)([^/]+)(/.*)?")


def response_of_path(path: str) -> str | None:
    """The id of the response that a path is about."""
    found = _PATH.fullmatch(path)
    return found[2] if found and found[2] != "compact" else None


def provider_path(path: str, response_ids: Mapping[str, str]) -> str:
    """The path at the provider."""
    found = _PATH.fullmatch(path)
    if found is None or found[2] not in response_ids:
        return path
    return f"{found[1]}{response_ids[found[2]]}{found[3] or ''}"


def provider_body(body: Body, response_ids: Mapping[str, str]) -> Body:
    """A body that only passes through, such as that of `/v1/responses/compact`, with the provider's id."""
    known = str(body.get("previous_response_id"))
    return {**body, "previous_response_id": response_ids[known]} if known in response_ids else body


def shown_stored(body: Body, shown_id: str, exchange: Exchange, hidden: frozenset[str]) -> Body:
    """A stored response as the client saw it when it was made."""
    before = [item for item in exchange.items if item.get("type") != "function_call_output"]
    output = body.get("output")
    shown = {**body, "id": shown_id, "tools": shown_tools(body.get("tools") or [], hidden)}
    if isinstance(output, list):
        ids = {item.get("id") for item in output}
        earlier = [item for item in before if item.get("id") not in ids]
        shown["output"] = [item for item in (*earlier, *output) if not is_hidden_call(item, hidden)]
    return shown


def shown_tools(tools: Iterable[Any], hidden: frozenset[str]) -> list[Any]:
    """The tools that the client offered."""
    return [tool for tool in tools if not _is_hidden_tool(tool, hidden)]


def _is_hidden_tool(tool: Any, hidden: frozenset[str]) -> bool:
    return isinstance(tool, dict) and tool.get("type") == "function" and tool.get("name") in hidden
