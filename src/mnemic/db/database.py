"""A pool of connections, and transactions that belong to one tenant.

Everything that reads or writes memories goes through `Database.transaction(tenant)`. It takes a
connection, begins, states and proves the tenant, and hands out a `Transaction` that runs the named
queries of ``mnemic/sql/queries``. Leaving the block commits; an exception rolls back. When the
connection returns to the pool it is cleaned: cursors, settings, temporary tables, locks.

If the server was restarted or has crashed, BEGIN is retried on new connections: nothing has run yet, so
nothing can run twice.
"""

import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any, LiteralString, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import dict_row
from psycopg.types import TypeInfo
from psycopg_pool import PoolTimeout

from mnemic.db.access import Access
from mnemic.db.answering_connection import NoAnswerError, has_unread_data
from mnemic.db.connection import (
    AppConnection,
    CommitResult,
    Limits,
    Row,
    backend_identity,
    begin_transaction,
    clean_or_close,
    commit_and_clean,
    remove_login_settings,
    send_settings_or_close,
)
from mnemic.db.dedicated_connection import DedicatedConnection
from mnemic.db.half_vectors import find_halfvec, use_half_vectors
from mnemic.db.id_arrays import use_keys
from mnemic.db.plain_values import use_plain_values
from mnemic.db.pool import LifoPool
from mnemic.db.pooler import send_settings
from mnemic.db.schema_version import SchemaCheck
from mnemic.db.tenancy import Purpose, SignedPurpose, Tenant
from mnemic.db.translate import translated
from mnemic.db.wakeups import ProcessWakeup, Wakeup, Wakeups, notify_channel
from mnemic.errors import ConflictError, MnemicError, NotFoundError
from mnemic.sql import query

BEGIN_ATTEMPTS = 5
POOL_MIN_SIZE = 1
CLOSE_TIMEOUT_S = 5.0
RACE_ATTEMPTS = 10
STREAM_ROWS = 500
STREAM_CURSOR = "mnemic_stream"
TENANT_PARAMETER = "%(tenant_id)s"
LOST_RACES = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)

Result = TypeVar("Result")

Parameters = Mapping[str, Any]


class Queries:
    """Runs named queries inside a transaction."""

    def __init__(self, connection: AppConnection) -> None:
        self.connection = connection

    def values(self, name: str, parameters: Parameters | None) -> Parameters | None:
        """The parameters of a query, with those that the transaction adds."""
        return parameters

    async def execute(self, name: str, parameters: Parameters | None = None) -> int:
        """Run a query for its effect; returns how many rows it touched."""
        cursor = await self.connection.execute(query(name), self.values(name, parameters))
        return cursor.rowcount

    async def execute_many(self, name: str, rows: Sequence[Parameters]) -> int:
        """Run a query once per row, in one round trip; returns how many rows were touched."""
        async with self.connection.cursor() as cursor:
            await cursor.executemany(query(name), [self.values(name, row) or {} for row in rows])
            return cursor.rowcount

    async def rows(self, name: str, parameters: Parameters | None = None) -> list[Row]:
        """All rows of a query."""
        cursor = await self.connection.execute(query(name), self.values(name, parameters))
        return await cursor.fetchall()

    async def extend_timeout(self) -> None:
        """Allow each further statement of the transaction an hour (`LONG_STATEMENT_S`)."""
        await self.execute("session.extend_timeout")
        self.connection.is_extended = True

    async def reset_timeout(self) -> None:
        """End what `extend_timeout` began."""
        await self.execute("session.reset_timeout")
        self.connection.is_extended = False

    async def rows_unprepared(self, name: str, parameters: Parameters) -> list[Row]:
        """All rows of a query that is planned for each call, never prepared.

        For lookups of many keys at once. A prepared plan that was made while a table was small would go on
        reading the whole table after it has grown, until the server has analysed it.
        """
        cursor = await self.connection.execute(query(name), self.values(name, parameters), prepare=False)
        return await cursor.fetchall()

    async def binary_rows(self, name: str, parameters: Parameters) -> list[Row]:
        """All rows of a query in binary format; arrays of ids are returned as keys (see `id_arrays.py`)."""
        return await self.binary_rows_of(query(name), self.values(name, parameters))

    async def binary_rows_of(self, statement: LiteralString, parameters: Parameters | None) -> list[Row]:
        """The same for a composed statement, which gets only these parameters."""
        cursor = await self.connection.execute(statement, parameters, binary=True)
        return await cursor.fetchall()

    async def stream(self, name: str, parameters: Parameters | None = None) -> AsyncIterator[Row]:
        """The rows of a query, fetched a bounded number at a time."""
        async with self.connection.cursor(name=STREAM_CURSOR) as cursor:
            cursor.itersize = STREAM_ROWS
            await cursor.execute(query(name), self.values(name, parameters))
            async for row in cursor:
                yield row

    async def first(self, name: str, parameters: Parameters | None = None) -> Row | None:
        """The first row of a query, or None."""
        cursor = await self.connection.execute(query(name), self.values(name, parameters))
        return await cursor.fetchone()

    async def one(self, name: str, parameters: Parameters | None = None) -> Row:
        """The first row of a query that always has one; NotFoundError if it has none."""
        row = await self.first(name, parameters)
        if row is None:
            raise NotFoundError(f"The query {name} found nothing.")
        return row


class Transaction(Queries):
    """A transaction of one tenant, whose id is the parameter `tenant_id` of its queries."""

    def __init__(self, connection: AppConnection, tenant: Tenant) -> None:
        super().__init__(connection)
        self.tenant = tenant

    def values(self, name: str, parameters: Parameters | None) -> Parameters | None:
        """Adds the tenant if the query names it. Without parameters, psycopg leaves per cent signs alone."""
        if TENANT_PARAMETER not in query(name):
            return parameters
        return {"tenant_id": self.tenant.id, **(parameters or {})}


class TenantDatabase:
    """A database as one tenant sees it; the layers above use this class."""

    def __init__(self, database: "Database", tenant: Tenant) -> None:
        self._database = database
        self.tenant = tenant

    def transaction(
        self, *, maintenance: bool = False, snapshot: bool = False
    ) -> AbstractAsyncContextManager[Transaction]:
        """A transaction of this tenant.

        With `maintenance` it may also erase and import; with `snapshot` all its queries see one moment.
        """
        return self._database.transaction(self.tenant, maintenance=maintenance, snapshot=snapshot)

    async def signed_row(self, name: str, parameters: Parameters, *, wakeups: Collection[Wakeup] = ()) -> Row:
        """The one row of a query that is a transaction of this tenant by itself (`Database.signed_rows`)."""
        return await self.signed_row_of(query(name), parameters, wakeups=wakeups)

    async def signed_row_of(
        self, statement: LiteralString, parameters: Parameters, *, wakeups: Collection[Wakeup] = ()
    ) -> Row:
        """The same for a composed statement."""
        subject = str(self.tenant.id)
        (row,) = await self._database.signed_rows(
            statement, parameters, purpose="authenticate", subject=subject, wakeups=wakeups
        )
        return row

    async def read(self, name: str, parameters: Parameters) -> list[Row]:
        """All rows of a read-only query that is a transaction by itself; arrays of ids are keys."""
        return await self.read_composed(query(name), parameters)

    async def read_composed(self, statement: LiteralString, parameters: Parameters) -> list[Row]:
        """The same for a composed statement.

        The statement is signed. Behind a pooler that changes the backend process between statements the
        signature is refused; then the query runs in an ordinary transaction.
        """
        subject = str(self.tenant.id)
        values = {**parameters, "tenant_id": self.tenant.id}
        try:
            return await self._database.signed_rows(
                statement, values, purpose="authenticate", subject=subject, binary=True
            )
        except MnemicError as error:
            if not isinstance(error.__cause__, InsufficientPrivilege):
                raise
        async with self.transaction() as transaction:
            return await transaction.binary_rows_of(statement, {**values, "signature": None})

    async def run(
        self, work: Callable[[Transaction], Awaitable[Result]], *, maintenance: bool = False
    ) -> Result:
        """Do `work` in a transaction, and retry it after a deadlock or a serialization failure.

        Both roll everything back, so a retry is safe. After `RACE_ATTEMPTS` attempts the error is raised.
        """
        for attempt in range(1, RACE_ATTEMPTS + 1):
            try:
                async with self.transaction(maintenance=maintenance) as transaction:
                    return await work(transaction)
            except ConflictError as error:
                if attempt == RACE_ATTEMPTS or not isinstance(error.__cause__, LOST_RACES):
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")


class Database:
    """One open database. `revive` is called before each new connection and restarts a stopped server."""

    def __init__(
        self, access: Access, limits: Limits, *, revive: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.access = access
        self._revive = revive
        self._pool = LifoPool(
            self._conninfo_of_running_server,
            connection_class=AppConnection,
            kwargs={"autocommit": True, "row_factory": dict_row},
            min_size=POOL_MIN_SIZE,
            max_size=limits.pool_size,
            timeout=limits.connect_timeout_s,
            configure=self._configure,
            open=False,
            name="mnemic",
        )
        self._limits = limits
        self._wakeups = Wakeups(self._notify)
        self._backend_identities: WeakKeyDictionary[AppConnection, str] = WeakKeyDictionary()
        self._halfvec: TypeInfo | None = None
        self._check_schema = SchemaCheck(access.schema_digest)

    async def open(self) -> None:
        """Connect; raises DatabaseUnavailableError if that takes longer than the limit."""
        with translated():
            await self._pool.open(wait=True, timeout=self._limits.connect_timeout_s)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._wakeups.aclose()
        await self._pool.close(timeout=CLOSE_TIMEOUT_S)

    def pool_statistics(self) -> Mapping[str, int]:
        """Counters of the connection pool, by the names that psycopg gives them."""
        return self._pool.get_stats()

    def on_wakeup(self, wakeup: Wakeup | ProcessWakeup, callback: Callable[[], None]) -> Callable[[], None]:
        """Call a function after commits of this process with this wakeup; returns how to unregister it."""
        return self._wakeups.on(wakeup, callback)

    def wake_process(self, wakeup: ProcessWakeup) -> None:
        """Wake waiters of this process."""
        self._wakeups.send_in_process(wakeup)

    async def open_tenant(self, name: str, *, create: bool = True) -> Tenant:
        """The tenant of this name, created if missing; with `create=False`, NotFoundError if missing."""
        with translated():
            async with AsyncExitStack() as stack:
                connection = await self._begin(stack, query("session.begin"), {"opening": name})
                if create:
                    await connection.execute(query("session.make_tenant"), {"name": name})
                cursor = await connection.execute(query("session.find_tenant"), {"name": name})
                row = await cursor.fetchone()
                if row is None:
                    raise NotFoundError(
                        f"There is no tenant {name!r} here. `mnemic tenants list` shows those that exist; "
                        f"`mnemic tenants create {shlex.quote(name)}` makes it."
                    )
                return Tenant(row["tenant_id"], name, frozenset(row["default_schedules"]))

    @asynccontextmanager
    async def transaction(
        self, tenant: Tenant, *, maintenance: bool = False, snapshot: bool = False
    ) -> AsyncIterator[Transaction]:
        """A transaction that sees and writes the rows of one tenant and no others.

        `maintenance` is for erasing and importing, which ordinary transactions may not do; with
        `snapshot` all queries see the moment of the first one.
        """
        subjects: dict[Purpose, str] = {"tenant": str(tenant.id)}
        if maintenance:
            subjects["maintenance"] = str(tenant.id)
        with translated():
            async with AsyncExitStack() as stack:
                begin = query("session.begin_snapshot" if snapshot else "session.begin")
                connection = await self._begin(stack, begin, subjects)
                yield Transaction(connection, tenant)

    @asynccontextmanager
    async def privileged_transaction(self, purpose: Purpose, subject: str) -> AsyncIterator[Queries]:
        """A transaction of no tenant, with the privileges of a purpose (see `tenancy.py`)."""
        with translated():
            async with AsyncExitStack() as stack:
                yield Queries(await self._begin(stack, query("session.begin"), {purpose: subject}))

    async def signed_rows(
        self,
        statement: LiteralString,
        parameters: Parameters,
        *,
        purpose: SignedPurpose,
        subject: str,
        wakeups: Collection[Wakeup] = (),
        binary: bool = False,
    ) -> list[Row]:
        """All rows of a statement that is a transaction by itself and takes a `signature` (see `tenancy.py`).

        One round trip in all, for hot paths; `wakeups` are sent afterwards. The connection needs no cleaning:
        only this one statement ran on it. With `binary`, arrays of ids are returned as keys.
        """
        with translated():
            async with self._checked_connection() as connection:
                signature = self.access.key.signature(
                    purpose, subject, process=await self._backend_identity(connection)
                )
                values = {**parameters, "signature": signature}
                cursor = await connection.execute(statement, values, binary=binary)
                rows = await cursor.fetchall()
        self._wakeups.send(wakeups)
        return rows

    def dedicated_connection(self, purpose: SignedPurpose, subject: str) -> DedicatedConnection:
        """A dedicated connection for signed statements; the caller closes it."""
        return DedicatedConnection(
            self._conninfo_of_running_server,
            self.access.key,
            purpose,
            subject,
            check=self._check_schema,
            pooler_settings=self.access.pooler_settings,
            answer_timeout_s=self._limits.answer_timeout_s,
        )

    @asynccontextmanager
    async def _checked_connection(self) -> AsyncIterator[AppConnection]:
        """A connection of the pool, checked to be alive.

        A statement may be executed even if no response arrives, so it cannot be retried. But a server that
        shuts down sends a message or closes the socket, which is visible before anything is sent. A lost
        connection is closed here: returned open, the pool would hand it out again.
        """
        for _ in range(BEGIN_ATTEMPTS):
            connection = await self._pool.getconn()
            try:
                if not has_unread_data(connection):
                    await self._check_schema(connection)
                    with self._giving_up_on_a_stalled_network():
                        yield connection
                    return
                await connection.close()
            finally:
                await self._pool.putconn(connection)
            await self._pool.check()
        raise psycopg.OperationalError(
            f"{BEGIN_ATTEMPTS} connections in a row were lost before they could be used"
        )

    async def _backend_identity(self, connection: AppConnection) -> str:
        """Identity of the connection's backend process, read once per connection."""
        process = self._backend_identities.get(connection)
        if process is None:
            process = self._backend_identities[connection] = await backend_identity(connection)
        return process

    async def _begin(
        self, stack: AsyncExitStack, begin: LiteralString, subjects: Mapping[Purpose, str]
    ) -> AppConnection:
        """Begin on a live connection and prove the subjects; `stack` commits and returns the connection."""
        for attempt in range(1, BEGIN_ATTEMPTS + 1):
            try:
                async with AsyncExitStack() as trial:
                    connection = await trial.enter_async_context(self._clean_connection())
                    await begin_transaction(connection, self.access.key, subjects, begin=begin)
                    stack.push_async_exit(trial.pop_all())
                    return connection
            except (PoolTimeout, NoAnswerError):
                raise  # The time limit has been used up.
            except psycopg.OperationalError:
                if attempt == BEGIN_ATTEMPTS:
                    raise
                await self._pool.check()
        raise AssertionError("unreachable: the last attempt returns or raises")

    @asynccontextmanager
    async def _clean_connection(self) -> AsyncIterator[AppConnection]:
        """A connection of the pool. Its transaction is committed or rolled back, then it is cleaned.

        The pool's own `reset` callback runs in a task that cannot be cancelled: a program that ends by an
        exception would hang in it.
        """
        connection = await self._pool.getconn()
        try:
            await self._check_schema(connection)
            committed = CommitResult(is_clean=False)
            try:
                with self._giving_up_on_a_stalled_network():
                    async with connection:
                        yield connection
                        committed = await commit_and_clean(connection)
            finally:
                if not committed.is_clean:
                    await clean_or_close(connection)
                if self.access.pooler_settings is not None:
                    await send_settings_or_close(connection, self.access.pooler_settings)
        finally:
            connection.is_extended = False
            await self._pool.putconn(connection)
        self._wakeups.send(committed.wakeups)

    @contextmanager
    def _giving_up_on_a_stalled_network(self) -> Iterator[None]:
        """After a statement without an answer, give up idle connections: each would take as long again."""
        try:
            yield
        except NoAnswerError:
            self._pool.shut_down_idle()
            raise

    async def _configure(self, connection: AppConnection) -> None:
        """Set up a new connection of the pool."""
        connection.answer_timeout_s = self._limits.answer_timeout_s
        use_keys(connection)
        use_plain_values(connection)
        await remove_login_settings(connection)
        if self.access.pooler_settings is not None:
            await send_settings(connection, self.access.pooler_settings)
        if self._halfvec is None:
            self._halfvec = await find_halfvec(connection)
        use_half_vectors(connection, self._halfvec)

    async def _notify(self, wakeup: Wakeup) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(query("session.notify"), {"channel": notify_channel(wakeup)})

    async def _conninfo_of_running_server(self) -> str:
        """Connection string. Often the server has stopped when a connection is needed: restart it first."""
        if self._revive is not None:
            await self._revive()
        return self.access.conninfo()
