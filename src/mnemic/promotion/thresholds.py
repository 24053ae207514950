"""The thresholds of promotion. A schedule of the job may have others in its payload."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mnemic.db.connection import Row
from mnemic.errors import InvalidInputError
from mnemic.types.checks import check_share, check_whole

USES_MAX = 1_000_000
CONVERSATIONS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a memory must reach; `usefulness` of 0.5 means that feedback on it is not negative."""

    confidence: float = 0.85
    uses: int = 5
    conversations: int = 2
    usefulness: float = 0.5

    @classmethod
    def checked(cls, given: Mapping[str, Any]) -> "Thresholds":
        """Thresholds from a payload; InvalidInputError names what is wrong."""
        unknown = sorted(set(given) - set(asdict(cls())))
        if unknown:
            raise InvalidInputError(
                f"There is no threshold {unknown[0]!r}. The payload may have: {', '.join(asdict(cls()))}."
            )
        values = asdict(cls()) | dict(given)
        return cls(
            confidence=check_share("confidence", values["confidence"]),
            uses=check_whole("uses", values["uses"], 1, USES_MAX),
            conversations=check_whole("conversations", values["conversations"], 1, CONVERSATIONS_MAX),
            usefulness=check_share("usefulness", values["usefulness"]),
        )

    def missed_by(self, measured: Mapping[str, Any]) -> str | None:
        """A sentence about the first threshold that is not reached; None if all are."""
        for name, least in asdict(self).items():
            if measured[name] < least:
                return f"{name} is {measured[name]:g}, below {least:g}"
        return None


def measured_values(row: Row) -> dict[str, float]:
    """What was measured of a memory, by the names of the thresholds; shares have four bytes."""
    return {
        "confidence": round(float(row["confidence"]), 6),
        "uses": int(row["uses"]),
        "conversations": int(row["conversations"]),
        "usefulness": round(float(row["usefulness"]), 6),
    }
