"""Every error that Mnemic raises, as one tree.

::

    MnemicError
    ├── ConfigurationError            a setting, URL or argument that cannot work
    ├── InvalidInputError             bad input to a call; nothing was written (also a ValueError)
    │   └── OwnerRequiredError        no owner in the call, the scope or the settings
    ├── NotFoundError                 what was asked for does not exist here (also a LookupError)
    ├── ConflictError                 somebody else changed it first, or it exists already
    ├── NotAuthenticatedError         no API key, or one that does not hold (any more)
    ├── ForbiddenError                the API key holds, but not for this call or this owner
    ├── TooManyRequestsError          the key called too often; `retry_after_s` says when to come back
    ├── ServerError                   a Mnemic server failed, or its answer cannot be used
    │   └── ServerUnavailableError    it could not be reached, or did not answer in time
    ├── ClosedError                   the Memory was closed, or was opened before a fork
    ├── DatabaseError                 the database refused or failed
    │   ├── DatabaseUnavailableError  no connection could be had, or it was lost
    │   ├── QueryTimeoutError         a statement ran into the time limit
    │   └── TenantMismatchError       the database turned a write away by the tenant's policy
    ├── MigrationError                the schema and this code do not fit together
    │   ├── NotMigratedError          the database lacks migrations: run `mnemic migrate`
    │   ├── MigrationChangedError     an applied migration file was edited afterwards
    │   ├── DatabaseTooNewError       the database was migrated by a newer Mnemic
    │   └── MissingPrivilegeError     the role may not do it; `sql` is what an administrator runs
    ├── EmbeddingError                the embedding model failed or gave an answer that cannot be used
    ├── LanguageModelError            the LLM failed, was late, or gave an answer that cannot be used
    ├── DeliveryError                 the receiver of a webhook did not take a message
    └── EmbeddedServerError           the embedded PostgreSQL cannot serve
        ├── DataFolderError           the data folder is unusable (read-only, full, other version …)
        └── UnsupportedMachineError   this machine cannot run the shipped server

A message says what happened and what to do about it. Errors of the driver are translated in one
place, `mnemic.db.translate`, and stay reachable as ``__cause__``.
"""


class MnemicError(Exception):
    """Base of every error that Mnemic raises on purpose."""


class ConfigurationError(MnemicError):
    """A setting, a URL or an argument cannot work as given."""


class InvalidInputError(MnemicError, ValueError):
    """The input of a call is not acceptable; nothing was written."""


class OwnerRequiredError(InvalidInputError):
    """No owner was given, neither in the call nor in the scope nor in the settings."""


class NotFoundError(MnemicError, LookupError):
    """What was asked for does not exist in this tenant."""


class ConflictError(MnemicError):
    """Somebody else changed the row first, or it exists already."""


class NotAuthenticatedError(MnemicError):
    """There is no API key, or it is unknown, expired or revoked."""


class ForbiddenError(MnemicError):
    """The API key is valid, but its role or its owner does not allow this call."""


class TooManyRequestsError(MnemicError):
    """The API key has called too often; after `retry_after_s` seconds it may again."""

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ServerError(MnemicError):
    """A Mnemic server failed, or gave an answer that cannot be used."""


class ServerUnavailableError(ServerError):
    """A Mnemic server could not be reached, or did not answer in time."""


class ClosedError(MnemicError):
    """The `Memory` was closed, or this process is a fork of the one that opened it."""


class DatabaseError(MnemicError):
    """The database refused a statement or failed while running it."""


class DatabaseUnavailableError(DatabaseError):
    """No connection to the database could be had, or it was lost."""


class QueryTimeoutError(DatabaseError):
    """A statement ran into the time limit."""


class TenantMismatchError(DatabaseError):
    """The database turned a write away because of the tenant's policy."""


class MigrationError(MnemicError):
    """The schema in the database and this code do not fit together."""


class NotMigratedError(MigrationError):
    """The database lacks migrations that this code needs."""


class MigrationChangedError(MigrationError):
    """A migration was edited after it had been applied."""


class DatabaseTooNewError(MigrationError):
    """The database was migrated by a newer Mnemic than this one."""


class MissingPrivilegeError(MigrationError):
    """The role may not do what a migration needs; `sql` is what an administrator must run."""

    def __init__(self, message: str, *, sql: str) -> None:
        super().__init__(f"{message}\n\nAn administrator must run once, in this database:\n\n{sql}")
        self.sql = sql


class EmbeddingError(MnemicError):
    """The embedding model failed, or its answer cannot be used as vectors."""


class LanguageModelError(MnemicError):
    """The language model failed, gave no answer in time, or one that cannot be used."""


class DeliveryError(MnemicError):
    """A message could not be delivered to a webhook: its address, its receiver or its answer is at fault."""


class EmbeddedServerError(MnemicError):
    """The embedded PostgreSQL cannot be started, reached or stopped."""


class DataFolderError(EmbeddedServerError):
    """The data folder is unusable: read-only, full, of another version, in foreign hands."""


class UnsupportedMachineError(EmbeddedServerError):
    """This machine cannot run the PostgreSQL that Mnemic ships."""
