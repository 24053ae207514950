"""Errors of the proxy itself, in the shape of the API that the client speaks.

Clients dispatch on the shape and the status of an error. An error of the provider is never changed; these are
only the proxy's own: a request that it refuses, a provider that it cannot reach.
"""

import json
from typing import Any

from mnemic.proxy.endpoints import Provider

ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
OPENAI_TYPES = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    403: "invalid_request_error",
    404: "invalid_request_error",
    408: "invalid_request_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}
OPENAI_CODES = {
    401: "invalid_api_key",
    404: "unknown_url",
    413: "request_too_large",
    429: "rate_limit_exceeded",
}


class ProxyError(Exception):
    """A request that the proxy answers itself, with an error."""

    def __init__(self, status: int, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.retry_after_s = retry_after_s


class UpstreamError(ProxyError):
    """The provider could not be reached, or gave no response in time."""


def error_body(provider: Provider, status: int, message: str) -> bytes:
    """An error as the provider would write it."""
    body = anthropic_error(status, message) if provider == "anthropic" else openai_error(status, message)
    return json.dumps(body).encode()


def anthropic_error(status: int, message: str) -> dict[str, Any]:
    """An error of the Messages API."""
    return {"type": "error", "error": {"type": ANTHROPIC_TYPES.get(status, "api_error"), "message": message}}


def openai_error(status: int, message: str) -> dict[str, Any]:
    """An error of the Chat Completions and Responses APIs."""
    error_type = OPENAI_TYPES.get(status, "server_error")
    return {
        "error": {"message": message, "type": error_type, "param": None, "code": OPENAI_CODES.get(status)}
    }
