"""Errors of a provider within a stream of OpenAI's APIs."""

from typing import Any

from mnemic.proxy.errors import openai_error
from mnemic.proxy.json_text import event_bytes, load_json


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
