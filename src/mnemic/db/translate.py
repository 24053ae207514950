"""Translates errors of the driver into errors of Mnemic; no other module does.

Server messages may quote values of rows. The whole error is kept in ``__cause__`` for the developer; only
the primary message, never the detail line, becomes part of Mnemic's message.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import psycopg_pool
from psycopg import errors as pg

from mnemic.db.disk import DATABASE_DISK_FULL, DATABASE_READ_ONLY
from mnemic.errors import (
    ConflictError,
    DatabaseError,
    DatabaseReadOnlyError,
    DatabaseUnavailableError,
    DiskFullError,
    InvalidInputError,
    MnemicError,
    QueryTimeoutError,
    TenantMismatchError,
)

# The row-level security message is the only one with this code that is about rows.
_POLICY_VIOLATION = "row-level security"

# PostgreSQL has one code for all files that it may not write; only the message tells a read-only disk.
_READ_ONLY_DISK = "Read-only file system"

_CONFLICTS = (
    pg.UniqueViolation,
    pg.ExclusionViolation,
    pg.SerializationFailure,
    pg.DeadlockDetected,
    pg.LockNotAvailable,
)
_BAD_INPUT = (pg.CheckViolation, pg.NotNullViolation, pg.ForeignKeyViolation, pg.DataError)
_UNKNOWN_OBJECTS = (pg.UndefinedFunction, pg.UndefinedColumn, pg.UndefinedTable, pg.AmbiguousFunction)
_LOST = (
    pg.AdminShutdown,
    pg.CrashShutdown,
    pg.CannotConnectNow,
    pg.TooManyConnections,
    psycopg_pool.TooManyRequests,
)


@contextmanager
def translated() -> Iterator[None]:
    """Run a block; translate an error of the driver, which is kept as the cause."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error


def translate(error: psycopg.Error) -> MnemicError:
    """The Mnemic error for an error of the driver."""
    message = _primary_message(error)
    if isinstance(error, pg.QueryCanceled):
        return QueryTimeoutError(
            f"The statement was cancelled: {message}. Raise statement_timeout_s if it must run longer."
        )
    if isinstance(error, pg.DiskFull):
        return DiskFullError(DATABASE_DISK_FULL)
    if isinstance(error, pg.ReadOnlySqlTransaction) or _READ_ONLY_DISK in message:
        return DatabaseReadOnlyError(DATABASE_READ_ONLY)
    if isinstance(error, pg.InsufficientPrivilege):
        if _POLICY_VIOLATION in message:
            return TenantMismatchError(f"The database refused a row of another tenant: {message}.")
        return DatabaseError(f"The database role may not do this: {message}.")
    if isinstance(error, _CONFLICTS):
        return ConflictError(f"Another transaction was first: {message}. Read again and retry.")
    if isinstance(error, _BAD_INPUT):
        return InvalidInputError(f"The database refused the value: {message}.")
    if isinstance(error, psycopg_pool.PoolTimeout):
        return DatabaseUnavailableError(
            f"No connection is available: {message}. Either all are in use (then raise pool_size, or hold "
            "transactions for a shorter time), or the server cannot be reached."
        )
    if isinstance(error, _LOST) or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None):
        return DatabaseUnavailableError(f"The database cannot be reached: {message}.")
    if isinstance(error, _UNKNOWN_OBJECTS):
        return DatabaseError(
            f"The database failed: {message}. If another version of Mnemic has migrated the database, "
            "restart this process with that version; `mnemic migrate --status` compares them."
        )
    return DatabaseError(f"The database failed: {message}.")


def _primary_message(error: psycopg.Error) -> str:
    primary = error.diag.message_primary
    # While connecting, libpq adds lines of general advice after the first one.
    first_line = str(error).strip().partition("\n")[0].rstrip(".")
    return primary or first_line or type(error).__name__
