"""UUIDv7 (RFC 9562): ids that sort by time of birth, made where the row is made."""

import secrets
import time
from uuid import UUID


def new_id() -> UUID:
    """A fresh id. `mnemic.new_id()` in the database makes the same kind."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)
