"""What a `mnemic` process prints to standard error, without its messages about waiting.

A process that waits more than three seconds for the embedded server says so
(docs/concepts/embedded-server.md).
On a busy machine every start and every stop may take that long.
"""

import re

_WAITING = re.compile(r"waiting for .*, \d+ s so far\n")


def complaints(stderr: str | bytes) -> str:
    """The lines that are not about waiting for the embedded server."""
    text = stderr.decode() if isinstance(stderr, bytes) else stderr
    return _WAITING.sub("", text)
