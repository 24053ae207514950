"""Which provider a path belongs to, and which paths hold conversations.

A client sends the paths of the API that it speaks: `/v1/messages` is Anthropic's, `/v1/chat/completions` and
`/v1/responses` are OpenAI's. Paths that both have, such as `/v1/models`, are distinguished by the headers of
Anthropic's clients. The host comes from the settings only; a request cannot choose it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from mnemic.proxy.protocol import ApiName

Provider = Literal["anthropic", "openai"]

ROOT = "/v1/"
CONVERSATIONS: Mapping[str, ApiName] = {
    "/v1/messages": "anthropic",
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
}
ANTHROPIC_ONLY = ("/v1/messages", "/v1/complete", "/v1/organizations")
OPENAI_ONLY = ("/v1/chat", "/v1/responses", "/v1/completions", "/v1/embeddings", "/v1/audio", "/v1/images")
ANTHROPIC_HEADERS = frozenset({"anthropic-version", "anthropic-beta", "x-api-key"})


@dataclass(frozen=True, slots=True)
class ProviderEndpoint:
    """Where a request goes."""

    provider: Provider
    api: ApiName | None
    """The API, if the request may hold a conversation."""


def endpoint_of(method: str, path: str, header_names: frozenset[str]) -> ProviderEndpoint | None:
    """The endpoint of a path as it was sent, without the query; None if no provider has such a path."""
    if not path.startswith(ROOT) or _climbs(path):
        return None
    provider = _provider_of(path, header_names)
    return ProviderEndpoint(provider, CONVERSATIONS.get(path) if method == "POST" else None)


def provider_of_error(path: str, header_names: frozenset[str]) -> Provider:
    """In whose shape an error about a request is written."""
    return _provider_of(path, header_names)


def _provider_of(path: str, header_names: frozenset[str]) -> Provider:
    if _is_under(path, OPENAI_ONLY):
        return "openai"
    if _is_under(path, ANTHROPIC_ONLY) or header_names & ANTHROPIC_HEADERS:
        return "anthropic"
    return "openai"


def _is_under(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def _climbs(path: str) -> bool:
    """Whether a path has dot segments: they could leave the folder that the setting names."""
    return any(part in (".", "..") for part in unquote(path).replace("\\", "/").split("/"))
