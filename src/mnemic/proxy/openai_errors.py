"""Errors in the shape of OpenAI's APIs."""

from typing import Any

from mnemic.proxy.json_text import dump_json, event_bytes, load_json

TYPES = {429: "rate_limit_error"}
CLIENT_ERRORS = range(400, 500)
CODES = {401: "invalid_api_key", 404: "unknown_url", 413: "request_too_large", 429: "rate_limit_exceeded"}


def openai_error(status: int, message: str) -> dict[str, Any]:
    """An error of the proxy itself."""
    default = "invalid_request_error" if status in CLIENT_ERRORS else "server_error"
    error_type = TYPES.get(status, default)
    return {"error": {"message": message, "type": error_type, "param": None, "code": CODES.get(status)}}


def error_body(status: int, message: str) -> bytes:
    """The body of an error of the proxy itself."""
    return dump_json(openai_error(status, message))


def provider_error(status: int, body: bytes) -> dict[str, Any]:
    """The error of a provider, as it sent it; its text in OpenAI's shape if it is something else."""
    try:
        value = load_json(body)
    except ValueError:
        value = None
    if isinstance(value, dict) and isinstance(value.get("error"), dict):
        return value
    text = body.decode("utf-8", "replace").strip()
    return openai_error(status, text or f"The provider answered with status {status}.")


def error_event(status: int, body: bytes) -> bytes:
    """The error of a provider within a stream of chunks."""
    return event_bytes(provider_error(status, body))
