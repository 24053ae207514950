"""Which headers pass. All do, except those that belong to one connection and those of the proxy itself.

Keys of the client for the provider (`x-api-key`, `authorization`) pass and are used for nothing else: the
proxy never stores or logs a header.
"""

from collections.abc import Iterable

RawHeaders = list[tuple[bytes, bytes]]

HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
"""RFC 9110, 7.6.1."""
OWN_PREFIXES = (b"x-mnemic-", b"mnemic-")
NOT_SENT = HOP_BY_HOP | {b"host", b"content-length", b"expect"}
"""The client of the proxy computes them: the host is the provider's, the length that of the body sent."""
REWRITTEN = frozenset({b"content-encoding", b"accept-encoding"})
"""The proxy sends bodies that it changed uncompressed, and must read the response to them."""


def request_headers(given: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """The headers that go to the provider with the original body."""
    headers = list(given)
    dropped = NOT_SENT | _named_by_connection(headers)
    return [
        (name, value)
        for name, value in headers
        if name.lower() not in dropped and not name.lower().startswith(OWN_PREFIXES)
    ]


def rewritten_headers(given: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """The headers that go to the provider with a changed body."""
    kept = [(name, value) for name, value in request_headers(given) if name.lower() not in REWRITTEN]
    return [*kept, (b"accept-encoding", b"identity")]


def response_headers(given: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """The headers of the provider's response that go to the client."""
    headers = list(given)
    dropped = HOP_BY_HOP | _named_by_connection(headers)
    return [(name, value) for name, value in headers if name.lower() not in dropped]


def without(headers: RawHeaders, *names: bytes) -> RawHeaders:
    """Headers without these names."""
    return [(name, value) for name, value in headers if name.lower() not in names]


def first(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """The first value of a header; empty if there is none."""
    return next((value.decode("latin-1") for given, value in headers if given.lower() == name), "")


def _named_by_connection(headers: RawHeaders) -> frozenset[bytes]:
    return frozenset(
        part.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for part in value.split(b",")
    )
