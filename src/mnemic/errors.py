"""Every error that Mnemic raises, as one tree.

::

    MnemicError
    ├── ConfigurationError            a setting, URL or argument that cannot work
    ├── InvalidInputError             bad input to a call; nothing was written (also a ValueError)
    │   └── OwnerRequiredError        no owner in the call, the scope or the settings
    ├── NotFoundError                 the object does not exist in this tenant (also a LookupError)
    ├── ConflictError                 another writer changed it first, or it exists already
    │   └── ChangeConflictError       memories of a changeset have changed since; `conflicts` lists them
    ├── NotAuthenticatedError         no API key, or an unknown, expired or revoked one
    ├── ForbiddenError                the API key is valid, but not for this call or this owner
    ├── TooManyRequestsError          the key called too often; `retry_after_s` says when to retry
    ├── ServerError                   a Mnemic server failed, or its response is invalid
    │   └── ServerUnavailableError    it could not be reached, or did not respond in time
    ├── ClosedError                   the Memory was closed, or was opened before a fork
    ├── DatabaseError                 the database refused or failed
    │   ├── DatabaseUnavailableError  no connection is available, or it was lost
    │   ├── QueryTimeoutError         a statement exceeded the time limit
    │   ├── DiskFullError             the disk of the database, or for temporary files, is full
    │   ├── DatabaseReadOnlyError     the database takes no writes: a standby, or a read-only disk
    │   └── TenantMismatchError       the database refused a write by the tenant's policy
    ├── MigrationError                the schema does not match this code
    │   ├── NotMigratedError          the database lacks migrations: run `mnemic migrate`
    │   ├── MigrationChangedError     an applied migration file was edited afterwards
    │   ├── DatabaseTooNewError       the database was migrated by a newer Mnemic
    │   ├── DatabaseInUseError        processes of another version use the database that must be migrated
    │   ├── SchemaChangedError        another version migrated the database while this process was running
    │   └── MissingPrivilegeError     the role lacks privileges; `sql` is for an administrator
    ├── EmbeddingError                the embedding model failed or returned unusable vectors
    │   └── EmbedderBusyError         it was busy with other texts; these ones can be embedded later
    ├── LanguageModelError            the LLM failed, timed out, or returned an unusable result
    │   └── SpendCapError             the call was not made: it might have exceeded a spend cap
    ├── PermanentJobError             raised by a job's handler: another attempt would fail, too
    ├── DeliveryError                 the receiver of a webhook did not accept a message
    └── EmbeddedServerError           the embedded PostgreSQL cannot serve
        ├── DataFolderError           the data folder is unusable (read-only, full, other version …)
        └── UnsupportedMachineError   this machine cannot run the shipped server

A message says what happened and what to do about it. Errors of the driver are translated by
`mnemic.db.translate` and kept as ``__cause__``.
"""

from datetime import datetime


class MnemicError(Exception):
    """Base of every error that Mnemic raises on purpose."""


class ConfigurationError(MnemicError):
    """A setting, a URL or an argument is invalid."""


class InvalidInputError(MnemicError, ValueError):
    """The input of a call is invalid; nothing was written."""


class OwnerRequiredError(InvalidInputError):
    """No owner was given, neither in the call nor in the scope nor in the settings."""


class NotFoundError(MnemicError, LookupError):
    """The object does not exist in this tenant."""


class ConflictError(MnemicError):
    """Another writer changed the row first, or it exists already."""


class ChangeConflictError(ConflictError):
    """A changeset cannot be applied or undone; nothing was changed. `conflicts` has a sentence per memory."""

    def __init__(self, message: str, *, conflicts: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.conflicts = conflicts


class NotAuthenticatedError(MnemicError):
    """There is no API key, or it is unknown, expired or revoked."""


class ForbiddenError(MnemicError):
    """The API key is valid, but its role or its owner does not allow this call."""


class TooManyRequestsError(MnemicError):
    """The API key has exceeded its rate limit; retry after `retry_after_s` seconds."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerError(MnemicError):
    """A Mnemic server failed, or its response is invalid."""


class ServerUnavailableError(ServerError):
    """A Mnemic server could not be reached, or did not respond in time."""


class ClosedError(MnemicError):
    """The `Memory` was closed, or this process is a fork of the one that opened it."""


class DatabaseError(MnemicError):
    """The database refused a statement or failed while running it."""


class DatabaseUnavailableError(DatabaseError):
    """No connection to the database is available, or it was lost."""


class QueryTimeoutError(DatabaseError):
    """A statement exceeded the time limit."""


class DiskFullError(DatabaseError):
    """The disk of the database, or the one for temporary files, is full; nothing was written."""


class DatabaseReadOnlyError(DatabaseError):
    """The database takes no writes: it is a standby, or its disk is read-only; nothing was written."""


class TenantMismatchError(DatabaseError):
    """The database refused a write because of the tenant's policy."""


class MigrationError(MnemicError):
    """The schema in the database does not match this code."""


class NotMigratedError(MigrationError):
    """The database lacks migrations that this code needs."""


class MigrationChangedError(MigrationError):
    """A migration was edited after it had been applied."""


class DatabaseTooNewError(MigrationError):
    """The database was migrated by a newer Mnemic than this one."""


class DatabaseInUseError(MigrationError):
    """The database must be migrated, and processes of another version are using it."""


class SchemaChangedError(MigrationError):
    """Another version migrated the database while this process was running: restart the process."""


class MissingPrivilegeError(MigrationError):
    """The role lacks privileges for a migration; `sql` is what an administrator must run."""

    def __init__(self, message: str, *, sql: str) -> None:
        super().__init__(f"{message}\n\nAn administrator must run once, in this database:\n\n{sql}")
        self.sql = sql


class EmbeddingError(MnemicError):
    """The embedding model failed, or returned unusable vectors."""


class EmbedderBusyError(EmbeddingError):
    """The embedding model was busy with other texts; it has not seen these ones."""


class LanguageModelError(MnemicError):
    """The language model failed, timed out, or returned an unusable result."""


class SpendCapError(LanguageModelError):
    """A language model was not called, because that might have exceeded a spend cap.

    `retry_at` is when the period of the cap ends; a job that raises this runs again then. It is None in the
    error that a Mnemic server returned.
    """

    def __init__(self, message: str, *, retry_at: datetime | None = None) -> None:
        super().__init__(message)
        self.retry_at = retry_at


class PermanentJobError(MnemicError):
    """A handler raises this if another attempt would fail, too: the job is a dead letter at once."""


class DeliveryError(MnemicError):
    """A message could not be delivered to a webhook: its URL, its receiver or the response is at fault."""


class EmbeddedServerError(MnemicError):
    """The embedded PostgreSQL cannot be started, reached or stopped."""


class DataFolderError(EmbeddedServerError):
    """The data folder is unusable: read-only, full, of another version, owned by another user."""


class UnsupportedMachineError(EmbeddedServerError):
    """This machine cannot run the PostgreSQL that Mnemic ships."""


def install_extra(*extras: str) -> str:
    """How to install a missing extra, for error messages: from a package index, and from a clone."""
    names = ",".join(extras)
    return f"Install it: pip install 'mnemic[{names}]', or in a clone of Mnemic pip install -e '.[{names}]'"
