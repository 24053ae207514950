"""Errors of the proxy itself, in the shape of the API that the client speaks.

Clients dispatch on the shape and the status of an error. An error of the provider is never changed; these are
only the proxy's own: a request that it refuses, a provider that it cannot reach.
"""

from typing import Any

from mnemic.proxy.endpoints import Provider
from mnemic.proxy.json_text import dump_json

ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
OPENAI_TYPES = {429: "rate_limit_error"}
CLIENT_ERRORS = range(400, 500)
INVALID_REQUEST = "invalid_request_error"
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
    return dump_json(body)


def anthropic_error(status: int, message: str) -> dict[str, Any]:
    """An error of the Messages API."""
    default = INVALID_REQUEST if status in CLIENT_ERRORS else "api_error"
    return {"type": "error", "error": {"type": ANTHROPIC_TYPES.get(status, default), "message": message}}


def openai_error(status: int, message: str) -> dict[str, Any]:
    """An error of the Chat Completions and Responses APIs."""
    default = INVALID_REQUEST if status in CLIENT_ERRORS else "server_error"
    error_type = OPENAI_TYPES.get(status, default)
    return {
        "error": {"message": message, "type": error_type, "param": None, "code": OPENAI_CODES.get(status)}
    }
