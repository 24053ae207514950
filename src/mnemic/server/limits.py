"""Limits of a server: sizes, timeouts, rates. Users set some of them; the others are constants here."""

from dataclasses import dataclass

from mnemic.config import Settings

HEADERS_MAX_BYTES = 16 * 1024
"""Request line and headers together."""
HEADERS_TIMEOUT_S = 10.0
"""How long a client may take from connecting to the end of its headers."""
LINGER_S = 10.0
"""How long a client may continue to send a body after it got its response."""
KEEP_ALIVE_S = 30
CONNECTIONS_MAX = 2_000
GRACEFUL_STOP_S = 30
COMPRESSED_MIN_BYTES = 1_024
COMPRESSION_LEVEL = 1


@dataclass(frozen=True)
class ServerLimits:
    """The limits of one server."""

    max_request_bytes: int
    max_batch_bytes: int
    request_timeout_s: float
    recall_rate_per_minute: int
    batch_timeout_s: float = 600.0
    body_pause_s: float = 10.0
    """How long a client may pause while it sends a body."""
    heartbeat_s: float = 15.0
    """Interval of heartbeats on a stream without events."""
    streams_max: int = 200
    """Streams of events that may be open at the same time, for all clients together."""


def limits_of(settings: Settings) -> ServerLimits:
    """The limits that the settings name."""
    return ServerLimits(
        max_request_bytes=settings.max_request_bytes,
        max_batch_bytes=settings.max_batch_bytes,
        request_timeout_s=settings.request_timeout_s,
        recall_rate_per_minute=settings.recall_rate_per_minute,
    )
