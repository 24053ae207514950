"""The open connections of a server: how many there may be, for all addresses and for each.

A connection is *idle* until the headers of its next request are complete, and then *busy* until its response
has been sent. When there are too many, the one that has been idle for the longest time is closed, so that
idle clients cannot keep others out. If all are busy, the new one is refused.
"""

from collections import Counter, OrderedDict
from typing import Protocol


class Connection(Protocol):
    """What the table needs of a connection."""

    def close_idle(self) -> None:
        """Close it, because another one needs its place."""
        ...


class ConnectionTable:
    """All connections of one server. Not thread-safe."""

    def __init__(self, *, total_max: int, per_address_max: int) -> None:
        self._total_max = total_max
        self._per_address_max = per_address_max
        self._by_address: Counter[str] = Counter()
        self._addresses: dict[Connection, str] = {}
        self._idle: OrderedDict[Connection, None] = OrderedDict()

    def add(self, connection: Connection, address: str) -> bool:
        """Add a connection, which is idle; False if there is no room for it."""
        if self._by_address[address] >= self._per_address_max and not self._close_idle(address):
            return False
        if len(self._addresses) >= self._total_max and not self.close_longest_idle():
            return False
        self._addresses[connection] = address
        self._by_address[address] += 1
        self._idle[connection] = None
        return True

    def remove(self, connection: Connection) -> None:
        """Remove a connection, if it was added."""
        address = self._addresses.pop(connection, None)
        self._idle.pop(connection, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def mark_busy(self, connection: Connection) -> None:
        """The headers of a request are complete."""
        self._idle.pop(connection, None)

    def mark_idle(self, connection: Connection) -> None:
        """A response has been sent."""
        if connection in self._addresses:
            self._idle[connection] = None

    def close_longest_idle(self) -> bool:
        """Close the connection that has been idle for the longest time; False if none is idle."""
        return self._close(next(iter(self._idle), None))

    def _close_idle(self, address: str) -> bool:
        return self._close(next((each for each in self._idle if self._addresses[each] == address), None))

    def _close(self, connection: Connection | None) -> bool:
        if connection is None:
            return False
        self.remove(connection)
        connection.close_idle()
        return True
