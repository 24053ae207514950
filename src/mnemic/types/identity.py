"""UUIDv7 (RFC 9562): ids that sort by creation time."""

import secrets
import time
from uuid import UUID


def new_id() -> UUID:
    """A new id. `mnemic.new_id()` in the database makes the same kind.

    Twelve of its bits are the fraction of the millisecond, in steps of 244 ns, so that ids sort in the order
    in which they were made: turns of a conversation that are retained in one call keep their order.
    """
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    fraction = nanoseconds * 4096 // 1_000_000
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | fraction << 64
    return UUID(int=value | 0x2 << 62 | secrets.randbits(62))
