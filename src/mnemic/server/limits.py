"""What a server bounds: bodies, times, rates. From the settings where people choose, named here otherwise."""

from dataclasses import dataclass

from mnemic.config import Settings

HEADERS_MAX_BYTES = 16 * 1024
"""Request line and headers together."""
HEADERS_TIMEOUT_S = 10.0
"""How long a client may take from connecting to the end of its headers."""
LINGER_S = 10.0
"""How long a client may go on sending a body after it got its answer."""
KEEP_ALIVE_S = 30
CONNECTIONS_MAX = 2_000
GRACEFUL_STOP_S = 30
COMPRESSED_MIN_BYTES = 1_024
COMPRESSION_LEVEL = 1


@dataclass(frozen=True)
class ServerLimits:
    """The bounds of one server."""

    max_request_bytes: int
    max_batch_bytes: int
    request_timeout_s: float
    recall_rate_per_minute: int
    batch_timeout_s: float = 600.0
    body_pause_s: float = 10.0
    """How long a client may pause while it sends a body."""
    heartbeat_s: float = 15.0
    """How often a stream of events says that it lives when nothing happens."""
    streams_max: int = 200
    """Streams of events at the same time, of all clients."""


def limits_of(settings: Settings) -> ServerLimits:
    """The bounds that the settings name."""
    return ServerLimits(
        max_request_bytes=settings.max_request_bytes,
        max_batch_bytes=settings.max_batch_bytes,
        request_timeout_s=settings.request_timeout_s,
        recall_rate_per_minute=settings.recall_rate_per_minute,
    )
