"""Limits of a server: sizes, timeouts, rates. Users set some of them; the others are constants here."""

from dataclasses import dataclass

from mnemic.config import Settings
from mnemic.server.quota import QuotaLimits

HEADERS_MAX_BYTES = 16 * 1024
"""Request line and headers together."""
HEADERS_TIMEOUT_S = 10.0
"""How long a client may take from connecting to the end of its headers."""
LINGER_S = 10.0
"""How long a client may continue to send a body after it got its response."""
KEEP_ALIVE_S = 30
RESPONSE_PAUSE_S = 30.0
"""How long a client may leave a response unread, or sending a closed connection's last bytes may take."""
PIPELINED_MAX = 100
"""Requests that a connection may send before it has the response to the first one."""
GRACEFUL_STOP_S = 30
COMPRESSED_MIN_BYTES = 1_024
COMPRESSION_LEVEL = 1
SERVER_BODY_BYTES = 512 * 1024**2
TENANT_BODY_BYTES = 128 * 1024**2
KEY_BODY_BYTES = 64 * 1024**2
"""Bytes of bodies that may be in memory at the same time; at least one body of the largest size."""


@dataclass(frozen=True)
class ServerLimits:
    """The limits of one server."""

    max_request_bytes: int
    max_batch_bytes: int
    request_timeout_s: float
    recall_rate_per_minute: int
    tenant_recall_rate_per_minute: int
    connections_max: int
    connections_per_address_max: int
    requests: QuotaLimits
    """Requests in progress; those that wait for events are counted as streams instead."""
    streams: QuotaLimits
    """Open streams of events."""
    body_bytes: QuotaLimits
    """Bytes of bodies in memory; batches are on disk."""
    invalid_rate_per_minute: int = 240
    """Invalid requests of a key beyond as many as succeed."""
    tenant_invalid_rate_per_minute: int = 960
    batch_timeout_s: float = 600.0
    body_pause_s: float = 10.0
    """How long a client may pause while it sends a body."""
    heartbeat_s: float = 15.0
    """Interval of heartbeats on a stream without events."""


def limits_of(settings: Settings) -> ServerLimits:
    """The limits that the settings name."""
    return ServerLimits(
        max_request_bytes=settings.max_request_bytes,
        max_batch_bytes=settings.max_batch_bytes,
        request_timeout_s=settings.request_timeout_s,
        recall_rate_per_minute=settings.recall_rate_per_minute,
        tenant_recall_rate_per_minute=settings.tenant_recall_rate_per_minute,
        connections_max=settings.max_connections,
        connections_per_address_max=settings.max_connections_per_address,
        requests=QuotaLimits(
            server=settings.max_connections,
            tenant=settings.max_requests_per_tenant,
            key=settings.max_requests_per_key,
        ),
        streams=QuotaLimits(
            server=settings.max_streams,
            tenant=settings.max_streams_per_tenant,
            key=settings.max_streams_per_key,
        ),
        body_bytes=QuotaLimits(
            server=max(SERVER_BODY_BYTES, settings.max_request_bytes),
            tenant=max(TENANT_BODY_BYTES, settings.max_request_bytes),
            key=max(KEY_BODY_BYTES, settings.max_request_bytes),
        ),
    )
