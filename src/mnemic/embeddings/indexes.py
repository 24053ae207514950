"""Vector indexes of large owners: list, build and drop them.

Everything concerns the open tenant and its serving model. Listing runs as that tenant; building and dropping
needs an administrator, which the embedded server and an administrator's URL provide. With a plain login,
owners are searched without an index until an administrator runs `mnemic index`.
"""

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from mnemic.config import Settings
from mnemic.db.access import DATABASE_NAME
from mnemic.db.database import TenantDatabase
from mnemic.db.embedded import ADMIN_ROLE
from mnemic.db.vector_index import (
    INDEX_KEEP_ROWS,
    INDEX_MIN_ROWS,
    OnProgress,
    build_index,
    count_indexes,
    count_vectors,
    drop_index,
    index_exists,
    index_name,
    large_owners,
    list_indexes,
)
from mnemic.db.vectors import find_vectors
from mnemic.errors import ConfigurationError, ConflictError, MnemicError
from mnemic.runtime.core import Core
from mnemic.runtime.serving_model import serving_embedder
from mnemic.runtime.storage import Storage, limits_of

COUNT_MAX = 10_000_000
# How long `mnemic index` waits for another process that builds an index.
TURN_WAIT_S = 3_600.0

logger = logging.getLogger("mnemic.indexing")


@dataclass(frozen=True)
class OwnerIndex:
    """An owner with many vectors, and its index: `size_bytes` is None without a valid index.

    `seconds` is how long this call built it; None if it built nothing.
    """

    owner: str
    vector_count: int
    size_bytes: int | None
    seconds: float | None = None


@dataclass(frozen=True)
class IndexSurvey:
    """The owners of a tenant that have an index or should have one, largest first.

    `index_count` is the number of indexes on the model's table, of all tenants; `leftovers` are indexes of
    this tenant whose owner is no longer large, or is gone.
    """

    owners: tuple[OwnerIndex, ...]
    index_count: int
    leftovers: tuple[str, ...]

    @property
    def missing(self) -> tuple[OwnerIndex, ...]:
        """Owners that should have an index and have none."""
        return tuple(owner for owner in self.owners if owner.size_bytes is None)


async def index_owner(
    core: Core,
    owner: str,
    *,
    model: str | None = None,
    on_progress: OnProgress | None = None,
    turn_wait_s: float = 0.0,
) -> float | None:
    """Build the index of an owner for a model, by default the serving one; returns the seconds it took.

    0.0 means that it existed; None that the owner is too small, or that another process is building an index.
    Raises ConfigurationError without an administrator, ConflictError if the table has the maximum of indexes.
    """
    storage = core.storage
    wanted = model or (await serving_embedder(core)).name
    async with storage.tenant_database.transaction() as transaction:
        table = await find_vectors(transaction, wanted)
        if table is None:
            return None
        row_count = await count_vectors(transaction, table, owner, at_most=COUNT_MAX)
    if row_count <= INDEX_MIN_ROWS:
        return None
    return await build_index(
        admin_conninfo(storage, core.settings),
        limits_of(core.settings),
        table,
        storage.tenant,
        owner,
        row_count=row_count,
        on_progress=on_progress,
        lock_wait_s=turn_wait_s,
    )


async def survey_indexes(database: TenantDatabase, model: str) -> IndexSurvey:
    """Survey the owners of a tenant and their indexes; counts all vectors, which may take seconds."""
    async with database.transaction() as transaction:
        table = await find_vectors(transaction, model)
        if table is None:
            return IndexSurvey((), 0, ())
        large = await large_owners(transaction, table, above=INDEX_KEEP_ROWS)
        found = {index.name: index for index in await list_indexes(transaction, table)}
        index_count = await count_indexes(transaction, table)
    names = {owner.owner: index_name(table.name, database.tenant.id, owner.owner) for owner in large}
    sizes = {name: index.size_bytes for name, index in found.items() if index.is_valid}
    owners = (OwnerIndex(each.owner, each.row_count, sizes.get(names[each.owner])) for each in large)
    concerned = tuple(
        each for each in owners if each.size_bytes is not None or each.vector_count > INDEX_MIN_ROWS
    )
    return IndexSurvey(concerned, index_count, tuple(sorted(found.keys() - set(names.values()))))


async def build_missing(
    core: Core, owner: str | None, on_progress: Callable[[OwnerIndex, int], None]
) -> AsyncIterator[OwnerIndex]:
    """Build missing indexes, of one owner or of all; for all, first drop those that no large owner uses.

    Yields the owners concerned, largest first, with their index; those for which there was no room have none.
    `on_progress` gets the owner and the number of its vectors that are indexed.
    """
    survey = await survey_indexes(core.storage.tenant_database, (await serving_embedder(core)).name)
    if owner is None:
        for name in survey.leftovers:
            await drop_index(admin_conninfo(core.storage, core.settings), limits_of(core.settings), name)
    for large in survey.owners:
        if owner in (None, large.owner):
            yield await _build(core, large, on_progress) if large in survey.missing else large


async def drop_indexes_of(core: Core, owner: str) -> None:
    """Drop the indexes of an erased owner, on all models' tables; a failure is only logged.

    No search finds erased vectors, but an index that stays holds them until a vacuum.
    """
    try:
        for name in await _names_of(core.storage.tenant_database, owner):
            await drop_index(admin_conninfo(core.storage, core.settings), limits_of(core.settings), name)
    except MnemicError as error:
        logger.warning("the vector index of an erased owner stays until `mnemic index` runs: %s", error)


def admin_conninfo(storage: Storage, settings: Settings) -> str:
    """How to connect as the likely administrator; the database decides whether it is one."""
    if storage.server is not None:
        return storage.server.conninfo(user=ADMIN_ROLE, dbname=DATABASE_NAME)
    if settings.database_url is None:
        raise ConfigurationError("This memory has only the application's login to its database.")
    return settings.database_url.get_secret_value()


async def _build(core: Core, large: OwnerIndex, on_progress: Callable[[OwnerIndex, int], None]) -> OwnerIndex:
    try:
        seconds = await index_owner(
            core,
            large.owner,
            on_progress=lambda done: on_progress(large, done),
            turn_wait_s=TURN_WAIT_S,
        )
    except ConflictError:
        return large  # No room for another index: the owner is searched exactly.
    return replace(large, size_bytes=await _size_of(core, large.owner), seconds=seconds)


async def _size_of(core: Core, owner: str) -> int | None:
    database, model = core.storage.tenant_database, (await serving_embedder(core)).name
    async with database.transaction() as transaction:
        table = await find_vectors(transaction, model)
        assert table is not None, "an index was just built on it"
        name = index_name(table.name, database.tenant.id, owner)
        indexes = await list_indexes(transaction, table)
    return next((index.size_bytes for index in indexes if index.name == name and index.is_valid), None)


async def _names_of(database: TenantDatabase, owner: str) -> list[str]:
    """The indexes of an owner, of all models, including invalid ones."""
    async with database.transaction() as transaction:
        tables = [row["table_name"] for row in await transaction.rows("vectors.tables")]
        names = [index_name(table, database.tenant.id, owner) for table in tables]
        return [name for name in names if await index_exists(transaction, name)]
