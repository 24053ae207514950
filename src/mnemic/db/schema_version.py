"""Which schema a process expects, how its sessions say so, and the check of each new connection.

Mnemic's migrations and definitions have one digest. Every session states it in its `application_name`
(``mnemic/<version>/<digest>/<process id>``), which all roles of a server can see in `pg_stat_activity`: so a
migration finds the processes of other versions (`mnemic.db.other_versions`) without locks or heartbeats,
neither of which a pooler or a suspended process would keep.

A migration disconnects those that it does not wait for. A process that is then still running connects again,
and `SchemaCheck` compares the digest of the database with its own before the connection is used: a call fails
with `SchemaChangedError` instead of an error of some SQL function. See docs/adr/0024.
"""

import os
from functools import cache
from hashlib import sha256
from weakref import WeakSet

from psycopg import AsyncConnection
from psycopg.rows import DictRow

from mnemic.errors import SchemaChangedError
from mnemic.sql import query
from mnemic.sql.migration_files import CORE_SET, SchemaFiles, installed_files
from mnemic.version import __version__

NAME_PREFIX = "mnemic"
NAMED_DIGEST_CHARACTERS = 12
# PostgreSQL cuts names after 63 bytes; the version is the only part without a fixed length.
NAMED_VERSION_CHARACTERS = 24


@cache
def expected_digest() -> str:
    """Digest of the migrations and definitions of this code."""
    return digest_of(installed_files())


def digest_of(files: SchemaFiles) -> str:
    """The digest that `migrations.schema_digest` computes, over Mnemic's own files.

    Extensions are left out: two processes may have different ones installed.
    """
    migrations = (
        f"migration {it.number} {it.checksum}" for it in files.migrations if it.set_name == CORE_SET
    )
    definitions = (
        f"definition {it.name} {it.checksum}" for it in files.definitions if it.set_name == CORE_SET
    )
    return sha256("\n".join(sorted([*migrations, *definitions])).encode()).hexdigest()


def session_name() -> str:
    """The `application_name` of this process."""
    digest = expected_digest()[:NAMED_DIGEST_CHARACTERS]
    return f"{NAME_PREFIX}/{__version__[:NAMED_VERSION_CHARACTERS]}/{digest}/{os.getpid()}"


def admin_session_name() -> str:
    """The `application_name` of sessions that open or migrate a database.

    They do not count as users: of two processes that wait in order to migrate, none would be first.
    """
    return f"{NAME_PREFIX} admin/{__version__[:NAMED_VERSION_CHARACTERS]}/{os.getpid()}"


class SchemaCheck:
    """Checks each connection once that its database has the schema with which it was opened."""

    def __init__(self, digest: str | None) -> None:
        self._digest = digest
        """None means: do not check."""
        self._checked: WeakSet[AsyncConnection[DictRow]] = WeakSet()

    async def __call__(self, connection: AsyncConnection[DictRow]) -> None:
        """Raise SchemaChangedError if another version has migrated the database in the meantime."""
        if self._digest is None or connection in self._checked:
            return
        cursor = await connection.execute(query("migrations.schema_digest"))
        row = await cursor.fetchone()
        if row is None or row["digest"] != self._digest:
            raise SchemaChangedError(
                "Another version of Mnemic has changed the schema of the database while this process was "
                f"running, which has Mnemic {__version__} loaded. Nothing was written. Restart this process "
                "with the version that is installed now; `mnemic migrate --status` says whether it fits."
            )
        self._checked.add(connection)
