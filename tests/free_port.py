"""A port for a server that is started later, or stopped and started again."""

import os
import socket
from collections.abc import Iterator
from itertools import count

# Below the ports that systems give to clients, and to servers that ask for any: one of those could be taken
# by another process while nothing listens on it. Parts of the suite that run at once begin in other places.
FIRST, PORTS = 20_000, 10_000


def _candidates() -> Iterator[int]:
    for number in count(os.getpid() * 10):
        yield FIRST + number % PORTS


_next = _candidates()


def free_port() -> int:
    """A port on loopback that nobody uses; each call gives another one."""
    for _ in range(PORTS):
        port = next(_next)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError(f"all ports from {FIRST} to {FIRST + PORTS} are in use")
