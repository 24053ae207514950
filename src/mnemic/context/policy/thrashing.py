"""Thrashing: what was paged out is asked for again and again."""

from collections.abc import Sequence

from mnemic.context.policy.settings import PagingSettings


def is_thrashing(fault_calls: Sequence[int], call: int, settings: PagingSettings) -> bool:
    """Whether faults were so frequent of late that paging more would cost more than it saves."""
    recent = [each for each in fault_calls if call - each < settings.thrashing_calls]
    return len(recent) >= settings.thrashing_faults


def protected_calls(fault_calls: Sequence[int], call: int, settings: PagingSettings) -> int:
    """For how many calls an object is protected; twice as long while the window thrashes."""
    return settings.protected_calls * (2 if is_thrashing(fault_calls, call, settings) else 1)
