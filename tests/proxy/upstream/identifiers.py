"""Ids that the stand-in gives out: unique over all stand-ins of a machine."""

from itertools import count
from uuid import uuid4


class Identifiers:
    """Ids with the prefixes of the providers."""

    def __init__(self) -> None:
        self._series = uuid4().hex[:12]
        self._numbers = count()

    def new(self, prefix: str) -> str:
        return f"{prefix}_{self._series}{next(self._numbers):06d}"
