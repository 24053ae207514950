"""Report the failure of a model: details to the log, only the kind of error and a reference to the caller.

The message of a provider's exception may quote keys, prompts, URLs or the text of other callers, and an error
message of Mnemic reaches tenants: in HTTP and MCP responses, in notes of recall, in the error of a job. So
the message names the kind of exception and a reference. The log has the same reference with the exception's
message, in which everything that looks like a secret is redacted. ``__cause__`` keeps the exception for code
in this process.
"""

import logging
import re
import secrets

DETAIL_MAX_CHARACTERS = 1_000
"""Longest part of an exception's message that is logged."""

REDACTED = "[redacted]"

_SECRETS = (
    # The user and password, and the query, of a URL.
    (re.compile(r"(?<=://)[^\s/@]{1,500}@"), f"{REDACTED}@"),
    (re.compile(r"(https?://[^\s?#]{1,500}\?)[^\s\"']{1,2000}"), rf"\1{REDACTED}"),
    # Values of headers and fields with a telling name.
    (
        re.compile(
            r"(?i)\b((?:proxy-)?authorization|[\w-]{0,40}(?:api[-_]?key|token|secret|password|passwd))"
            r"(\W{1,6}(?:is\W{1,6})?)(?:(?:bearer|basic)\s+)?[^\s\"',;&}]{1,2000}"
        ),
        rf"\1\2{REDACTED}",
    ),
    (re.compile(r"(?i)\bbearer\s+[^\s\"',;]{1,2000}"), f"Bearer {REDACTED}"),
    # Keys as the providers make them: a short prefix and a long random part.
    (re.compile(r"\b(?:sk|pk|rk|mn|key|gsk|xai|hf|AIza)[-_]?[A-Za-z0-9_*-]{12,500}"), REDACTED),
    # Any other long run of characters that has letters and digits, such as a token without a prefix.
    (re.compile(r"(?<![\w+/=-])(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{32,4000}"), REDACTED),
)

logger = logging.getLogger("mnemic.models")


def report_failure(model: str, error: BaseException) -> str:
    """Log a failure of a model; returns the kind of error and the reference, for the caller's message."""
    reference = secrets.token_hex(4)
    logger.warning("%s failed (reference %s): %s", model, reference, detail_of(error))
    return f"{type(error).__name__} (reference {reference}; the log has the details)"


def without_secrets(text: str) -> str:
    """`text` with everything that looks like a key, a password or a token replaced."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def detail_of(error: BaseException) -> str:
    """For operators: the exception without secrets, in one line of bounded length.

    The message is cut before the search for secrets, which takes time.
    """
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 — `__str__` of a foreign exception may raise anything; it is only logged
        message = "its message cannot be read"
    line = " ".join(f"{type(error).__name__}: {message[: 4 * DETAIL_MAX_CHARACTERS]}".split())
    return without_secrets(line)[:DETAIL_MAX_CHARACTERS]
