"""The PostgreSQL that the tests run: the wheel's, or the one of ``MNEMIC_TEST_POSTGRES_BIN``.

The variable names a folder with `initdb` and `postgres` of another version, for example
``/usr/lib/postgresql/15/bin``, whose server has pgvector. The fixtures `server` and `password_server` start it,
and so every test that uses a database through them runs on it. Tests that open a data folder (``Memory()``) use
the wheel's.
"""

import os
from pathlib import Path

from mnemic.db.embedded import server_binaries

VARIABLE = "MNEMIC_TEST_POSTGRES_BIN"


def tested_binaries() -> Path:
    """The folder with the programs of the server under test."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen) if chosen else server_binaries()
