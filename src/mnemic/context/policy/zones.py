"""Zones of pressure: how full the window is.

normal     Nothing needs to happen.
caution    An epoch may begin at the user's next turn, if it pays.
warning    An epoch may also begin between calls of tools.
critical   An epoch begins even if faults were frequent.
emergency  The prompt would soon be refused: an epoch begins at any price, and protects only the newest calls.
"""

from dataclasses import dataclass

from mnemic.context.step import Zone

_STARTS: tuple[tuple[float, Zone], ...] = (
    (0.92, "emergency"),
    (0.8, "critical"),
    (0.22, "warning"),
    (0.15, "caution"),
)
"""Share of the budget at which each zone starts, fullest first."""
_ORDER: tuple[Zone, ...] = ("normal", "caution", "warning", "critical", "emergency")


@dataclass(frozen=True, slots=True)
class Pressure:
    """How full a window is."""

    tokens: int
    budget_tokens: int
    zone: Zone

    @property
    def share(self) -> float:
        return self.tokens / self.budget_tokens


def pressure_of(tokens: int, budget_tokens: int) -> Pressure:
    """The zone that a number of tokens is in."""
    share = tokens / budget_tokens
    zone: Zone = next((zone for start, zone in _STARTS if share >= start), "normal")
    return Pressure(tokens=tokens, budget_tokens=budget_tokens, zone=zone)


def is_at_least(zone: Zone, other: Zone) -> bool:
    """Whether a zone is as full as another one."""
    return _ORDER.index(zone) >= _ORDER.index(other)
