"""What of a tenant wants the attention of a person. One transaction, whose counts are bounded."""

import asyncio
import os
from decimal import Decimal

from mnemic.db.connection import Row
from mnemic.runtime.core import Core
from mnemic.types.attention import CONCERN_KINDS, COUNT_MAX, Concern
from mnemic.types.spend import MICRODOLLARS

LATE_JOB_S = 900
"""A job that has been due for so long is late: workers poll every second."""
UNFINISHED_ACT_S = 3_600
"""A younger act may still be running."""
ACTS_DAYS = 30
"""Older unfinished acts are no news."""
LATE_CONSOLIDATION_S = 86_400
"""Consolidation reads turns every 15 minutes."""
DISK_SHARE = 0.9
SPEND_SHARE = 0.8


async def read_attention(core: Core) -> list[Concern]:
    """Everything that wants attention, most urgent first."""
    parameters = {
        "limit": COUNT_MAX,
        "late_s": LATE_JOB_S,
        "unfinished_s": UNFINISHED_ACT_S,
        "acts_days": ACTS_DAYS,
        "idle_s": LATE_CONSOLIDATION_S,
    }
    (found, account), disk = await asyncio.gather(_counted(core, parameters), asyncio.to_thread(_disk, core))
    spend = _spend(account, core.settings.spend_cap_usd_per_day) if account is not None else None
    found += [concern for concern in (spend, disk) if concern is not None]
    return sorted(found, key=lambda concern: CONCERN_KINDS.index(concern.kind))


async def _counted(core: Core, parameters: dict[str, int]) -> tuple[list[Concern], Row | None]:
    """What has too many of something, and the spend account."""
    async with core.storage.tenant_database.transaction() as transaction:
        found = [Concern(**row) for row in await transaction.rows("attention.counts", parameters)]
        return found, await transaction.first("attention.spend")


def _spend(account: Row, operator_cap: Decimal | None) -> Concern | None:
    """The cap that is used most, if that is much of it."""
    spent = {
        "day": account["day_spent_microdollars"] if account["is_of_today"] else 0,
        "month": account["month_spent_microdollars"] if account["is_of_this_month"] else 0,
        "total": account["total_spent_microdollars"],
    }
    caps = [(spent[period], account[f"{period}_cap_microdollars"]) for period in spent]
    if operator_cap is not None:
        caps.append((spent["day"], operator_cap * MICRODOLLARS))
    reserved = account["reserved_microdollars"]
    shares = [float((used + reserved) / cap) if cap else 1.0 for used, cap in caps if cap is not None]
    most = max(shares, default=0.0)
    count = sum(share >= SPEND_SHARE for share in shares)
    return Concern("spend", count, share=most) if count else None


def _disk(core: Core) -> Concern | None:
    """The disk of the embedded server; that of another server is not known."""
    if core.storage.server is None:
        return None
    try:
        disk = os.statvfs(core.settings.data_dir)
    except OSError:
        return None
    used = 1 - disk.f_bavail / disk.f_blocks if disk.f_blocks else 0.0
    is_short = disk.f_bavail * disk.f_frsize < core.settings.min_free_disk_bytes
    return Concern("disk", 1, share=used) if used >= DISK_SHARE or is_short else None
