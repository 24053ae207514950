"""Starts the server, forks, and checks that the children do not affect it. Exits with 0 if so.

    python forking_process.py DATA_DIR

Says the pid of a child that goes on living: it must not keep the server alive.
"""

import os
import signal
import sys
from pathlib import Path

import psycopg

from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer
from mnemic.errors import ClosedError


def main(data_dir: str) -> None:
    server = EmbeddedServer.start(Path(data_dir))
    closing_child = os.fork()
    if closing_child == 0:
        os._exit(_close_in_child(server))
    _, child_status = os.waitpid(closing_child, 0)
    assert child_status == 0
    with psycopg.connect(server.conninfo(user=ADMIN_ROLE, dbname="postgres")) as connection:
        connection.execute("select 1")
    lingering_child = os.fork()
    if lingering_child == 0:
        os.closerange(0, 3)  # Otherwise a reader of our output would wait for the child.
        signal.pause()
    print(lingering_child)


def _close_in_child(server: EmbeddedServer) -> int:
    try:
        server.ensure_running()
    except ClosedError:
        server.close()
        return 0
    return 1


if __name__ == "__main__":
    main(*sys.argv[1:])
