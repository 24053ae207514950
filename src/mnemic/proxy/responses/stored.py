"""Responses that the provider stores, under the ids that the client knows.

The client knows a response by the id of the provider's first response; its end is in the last one. A path
such as `/v1/responses/{id}` goes to the last, and what comes back is shown as the first.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mnemic.proxy.protocol import Body, Exchange
from mnemic.proxy.responses.items import is_hidden_call

_PATH = re.compile(rb"(/v1/responses/)([^/]+)(/.*)?")
_NOT_AN_ID = b"compact"


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A response whose turn the proxy changed."""

    shown_id: str
    exchange: Exchange
    hidden: frozenset[str]
    """Names of the hidden tools of its session."""

    @property
    def provider_id(self) -> str:
        """Its last response at the provider."""
        return self.exchange.response_ids.get(self.shown_id, self.shown_id)

    def path(self, path: bytes) -> bytes:
        """The path at the provider."""
        found = _PATH.fullmatch(path)
        return b"".join((found[1], self.provider_id.encode(), found[3] or b"")) if found else path

    def shown(self, body: Body) -> Body:
        """An answer of the provider about it, as the client saw the response when it was made."""
        if body.get("id") != self.provider_id:
            return body
        shown = {**body, "id": self.shown_id}
        if isinstance(body.get("tools"), list):
            shown["tools"] = shown_tools(body["tools"], self.hidden)
        output = body.get("output")
        if isinstance(output, list):
            ids = {item.get("id") for item in output}
            made = (item for item in self.exchange.items if item.get("type") != "function_call_output")
            earlier = [item for item in made if item.get("id") not in ids]
            shown["output"] = [item for item in (*earlier, *output) if not is_hidden_call(item, self.hidden)]
        return shown


def response_of_path(path: bytes) -> str | None:
    """The id of the response that a path is about."""
    found = _PATH.fullmatch(path)
    return found[2].decode("latin-1") if found and found[2] != _NOT_AN_ID else None


def shown_tools(tools: Iterable[Any], hidden: frozenset[str]) -> list[Any]:
    """The tools that the client offered."""
    return [tool for tool in tools if not _is_hidden_tool(tool, hidden)]


def _is_hidden_tool(tool: Any, hidden: frozenset[str]) -> bool:
    return isinstance(tool, dict) and tool.get("type") == "function" and tool.get("name") in hidden
