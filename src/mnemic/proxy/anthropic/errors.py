"""Errors in the shape of the Messages API."""

from collections.abc import Mapping

from mnemic.proxy.json_text import dump_json, load_json

ERROR_TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_body(status: int, message: str) -> bytes:
    """The body of an error of the proxy."""
    default = "invalid_request_error" if 400 <= status < 500 else "api_error"
    kind = ERROR_TYPES.get(status, default)
    return dump_json({"type": "error", "error": {"type": kind, "message": message}})


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
        return error_body(status, f"The provider answered with status {status}.")
    is_line = b"\n" not in body and b"\r" not in body
    return body if is_line else dump_json(value)
