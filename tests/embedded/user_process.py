"""A user of the embedded server, as a program that tests can start several times and kill.

    python user_process.py DATA_DIR WRITER [--hold]

Starts or joins the server, says ``ready``, then writes rows, each in a transaction of its own, and
says each number after its commit. With --hold it writes nothing and waits for its input to end.
"""

import itertools
import sys
from pathlib import Path

import psycopg

from mnemic.db.embedded import ADMIN_ROLE, EmbeddedServer

MAKE_TABLE = "create table if not exists written (writer text, number int)"
INSERT = "insert into written values (%s, %s)"
BREATH = "select pg_sleep(0.001)"  # Or a few writers take the whole machine, and all tests get slow.
TABLE_LOCK = 1


def main(data_dir: str, writer: str, *options: str) -> None:
    with EmbeddedServer.start(Path(data_dir)) as server, connect(server) as connection:
        # Two users may create it concurrently, for which CREATE … IF NOT EXISTS is not safe.
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", [TABLE_LOCK])
            connection.execute(MAKE_TABLE)
        print("ready", flush=True)
        if "--hold" in options:
            sys.stdin.read()
            return
        for number in itertools.count():
            connection.execute(INSERT, [writer, number])
            print(number, flush=True)
            connection.execute(BREATH)


def connect(server: EmbeddedServer) -> psycopg.Connection:
    return psycopg.connect(server.conninfo(user=ADMIN_ROLE, dbname="postgres"), autocommit=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
