"""Let a process that works in the background give way to the others, without starving.

It has about a tenth of the weight of another process. Linux may group processes by session (autogroup), and
then a priority counts only within a session and each session gets an equal share of the CPU: so the process
must lead a session of its own, which gets the same low weight.

The lowest priorities (SCHED_IDLE) were tried: they delayed others no less, and where the cores were always
busy, a text waited for its vector for more than 10 s.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

NICENESS = 10


def give_way(pid: int) -> None:
    """Lower a process of this user that leads a session of its own; it may have ended already.

    Call it as soon as the process has started: the threads that it has by then keep their priority.
    """
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, pid, NICENESS)
    if sys.platform == "linux":
        # Not in every kernel, and not writable everywhere: then there are no such groups, or they stay equal.
        with suppress(OSError):
            Path(f"/proc/{pid}/autogroup").write_text(str(NICENESS))
