"""Errors of a provider within a stream of the Messages API."""

from mnemic.proxy.errors import error_body
from mnemic.proxy.json_text import dump_json, load_json


def error_event(status: int, body: bytes) -> bytes:
    """An error of the provider as the last event of a stream that has begun."""
    return b"event: error\ndata: " + _one_line(status, body) + b"\n\n"


def _one_line(status: int, body: bytes) -> bytes:
    """The provider's own error where it is one: clients compare its words."""
    try:
        value = load_json(body)
    except ValueError:
        value = None
    if not isinstance(value, dict) or "error" not in value:
        return error_body("anthropic", status, f"The provider answered with status {status}.")
    is_line = b"\n" not in body and b"\r" not in body
    return body if is_line else dump_json(value)
