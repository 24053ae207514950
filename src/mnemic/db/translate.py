"""The one place where errors of the driver become errors of Mnemic.

Messages of the server may quote values of rows; they are kept in ``__cause__`` for the developer
and only their harmless part (the primary message, never the detail line) reaches our own text.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import psycopg_pool
from psycopg import errors as pg

from mnemic.errors import (
    ConflictError,
    DatabaseError,
    DatabaseUnavailableError,
    InvalidInputError,
    MnemicError,
    QueryTimeoutError,
    TenantMismatchError,
)

# The row-level security message is the only one with this code that is about rows.
_POLICY_VIOLATION = "row-level security"

_CONFLICTS = (
    pg.UniqueViolation,
    pg.ExclusionViolation,
    pg.SerializationFailure,
    pg.DeadlockDetected,
    pg.LockNotAvailable,
)
_BAD_INPUT = (pg.CheckViolation, pg.NotNullViolation, pg.ForeignKeyViolation, pg.DataError)
_LOST = (
    pg.AdminShutdown,
    pg.CrashShutdown,
    pg.CannotConnectNow,
    pg.TooManyConnections,
    psycopg_pool.TooManyRequests,
)


@contextmanager
def translated() -> Iterator[None]:
    """Run a block; an error of the driver leaves it as an error of Mnemic with its cause kept."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error


def translate(error: psycopg.Error) -> MnemicError:
    """The error of ours that says what `error` means to a caller."""
    said = _primary_message(error)
    if isinstance(error, pg.QueryCanceled):
        return QueryTimeoutError(
            f"The statement was cancelled: {said}. Raise statement_timeout_s if it must run longer."
        )
    if isinstance(error, pg.InsufficientPrivilege):
        if _POLICY_VIOLATION in said:
            return TenantMismatchError(f"The database refused a row of another tenant: {said}.")
        return DatabaseError(f"The database role may not do this: {said}.")
    if isinstance(error, _CONFLICTS):
        return ConflictError(f"Somebody else was first: {said}. Read again and retry.")
    if isinstance(error, _BAD_INPUT):
        return InvalidInputError(f"The database refused the value: {said}.")
    if isinstance(error, psycopg_pool.PoolTimeout):
        return DatabaseUnavailableError(
            f"No connection could be had: {said}. Either all are in use (then raise pool_size, or hold "
            "transactions for a shorter time), or the server cannot be reached."
        )
    if isinstance(error, _LOST) or (isinstance(error, psycopg.OperationalError) and error.sqlstate is None):
        return DatabaseUnavailableError(f"The database cannot be reached: {said}.")
    return DatabaseError(f"The database failed: {said}.")


def _primary_message(error: psycopg.Error) -> str:
    primary = error.diag.message_primary
    # While connecting, libpq adds lines with general advice to the first one.
    said = str(error).strip().partition("\n")[0].rstrip(".")
    return primary or said or type(error).__name__
