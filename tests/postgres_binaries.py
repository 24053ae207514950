"""The PostgreSQL that the tests run: the wheel's, or the one of ``MNEMIC_TEST_POSTGRES_BIN``.

The variable names a folder with `initdb` and `postgres` of another version, for example
``/usr/lib/postgresql/15/bin``, whose server has pgvector. The fixtures `server` and `password_server` start
it, and so every test that uses a database through them runs on it. Tests that open a data folder
(``Memory()``) use the wheel's.
"""

import os
import signal
from pathlib import Path

from mnemic.db.embedded import server_binaries

VARIABLE = "MNEMIC_TEST_POSTGRES_BIN"


def tested_binaries() -> Path:
    """The folder with the programs of the server under test."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else server_binaries()


def is_other_postgres() -> bool:
    """Whether the server under test is not the wheel's."""
    return bool(os.environ.get(VARIABLE))


def let_connect(data_dir: Path) -> None:
    """Let every role connect without a password, where the rules of the embedded server do not work.

    Before PostgreSQL 16, ``pg_ident.conf`` cannot map a user to all roles. The socket is in a private folder.
    """
    pgdata = data_dir / "pgdata"
    if not is_other_postgres() or int((pgdata / "PG_VERSION").read_text()) >= 16:
        return
    (pgdata / "pg_hba.conf").write_text("local all all trust\n")
    os.kill(int((pgdata / "postmaster.pid").read_text().split()[0]), signal.SIGHUP)
