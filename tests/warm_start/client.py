"""Stands for a process that `warm_start.server` forks: passes on its streams, its signals and its end.

Started with ``python -I -S``, so only the standard library is there. Usage: ``client.py SOCKET ARGUMENT…``.
"""

import json
import os
import signal
import socket
import sys

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> None:
    path, *arguments = sys.argv[1:]
    # Signals that come before the process exists are delivered when it does.
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        order = json.dumps({"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()})
        socket.send_fds(connection, [len(order.encode()).to_bytes(4, "big")], [0, 1, 2])
        connection.sendall(order.encode())
        # The process alone holds the streams now, so that their other ends see when it closes them.
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        answers = connection.makefile("r")
        process = int(answers.readline())
        for number in FORWARDED:
            signal.signal(number, lambda number, _: os.kill(process, number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        end_like(int(answers.readline()))


def end_like(code: int) -> None:
    """Exit with a code, or die of a signal, which is a negative code."""
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
