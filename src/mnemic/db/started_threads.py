"""A pool whose threads all start when it is made.

A pool of the standard library starts threads while it works, on the thread that submits a call, and waits
until each one runs. When there is no memory left, the new thread may end before it says that it runs; then
`Thread.start` waits for ever, and with it the event loop. Threads that run already cannot fail that way.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

START_TIMEOUT_S = 60.0


class StartedThreads(ThreadPoolExecutor):
    """As many threads as it may have, from the beginning."""

    def __init__(self, count: int, *, name: str, initializer: Callable[[], None] | None = None) -> None:
        super().__init__(count, thread_name_prefix=name, initializer=initializer)
        # Each call keeps its thread busy until all of them run, so that every call gets a new one.
        everyone = threading.Barrier(count + 1)
        for _ in range(count):
            self.submit(everyone.wait, START_TIMEOUT_S)
        everyone.wait(START_TIMEOUT_S)
