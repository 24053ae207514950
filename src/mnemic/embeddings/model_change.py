"""Changing the embedding model of a tenant while everything goes on.

1. **Begin**: the model that is configured becomes the next one. From then on, whoever stores a vector of the
   serving model also lists the memory in `queue.reembedding`.
2. **List** all that was there before.
3. **Fill**: embed what is listed by the next model, batch by batch, until nothing is. The old vectors serve
   recall.
4. **Index** the owners that have many vectors, so that the first recall after the switch is no slower.
5. **Switch** in one transaction, which holds all writers of the tenant for a moment; if something was listed
   meanwhile, go back to 3. After some tries what little is left is embedded after the switch.
6. **Clear away** the tenant's vectors of other models, and tables that no tenant uses.

Each step finds out from the database whether it was done, so that a job that was killed goes on where it
was. Who asks for a change writes its intent into the audit log; the job writes the outcome, with the switch
or when it finds that the change was called off. Until then it is an act that still runs. Why it is done
this way: docs/adr/0014-changing-the-embedding-model.md.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar
from uuid import UUID

from psycopg.errors import LockNotAvailable

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.vector_index import INDEX_MIN_ROWS, drop_index, large_owners, list_indexes
from mnemic.db.vectors import (
    ModelChanged,
    VectorTable,
    find_vectors,
    insert_vectors,
    make_vectors,
    remove_some_vectors,
    vectors_in_use,
)
from mnemic.embeddings.backlog import (
    EMBED_BATCH,
    HARMLESS_TEXT,
    Embedded,
    embed_rows,
    enqueue_backlog_job,
    refuse,
    unchanged,
)
from mnemic.embeddings.indexes import TURN_WAIT_S, admin_conninfo, index_owner
from mnemic.errors import ConflictError, MnemicError
from mnemic.govern.audit import AuditedAct, audited, end_act, nobodys
from mnemic.jobs.queue import enqueue
from mnemic.runtime.core import Core
from mnemic.runtime.storage import limits_of
from mnemic.types.embedding import ModelChange
from mnemic.types.scope import Scope

CHANGE_JOB = "embeddings.change_model"
CHANGE_JOB_ATTEMPTS = 50
REMOVE_BATCH = 2_000
STRICT_SWITCHES = 5
"""Tries to switch with nothing left to embed; then `LACKING_MAX` memories may be left for afterwards."""
LACKING_MAX = 1_000
HOLD_TRIES = 600
"""How often to ask for a lock that long calls of others hold; each try waits 0.3 s, then others go on."""
HOLD_PAUSE_S = 0.5
CALLED_OFF = "called off"

NOWHERE = UUID(int=0)
NO_MODEL: dict[str, Any] = {"model": None, "next_model": None, "is_listed": False}
Report = Callable[[int, int], None]
Result = TypeVar("Result")

logger = logging.getLogger("mnemic.reembedding")


async def ask_for_change(core: Core, scope: Scope) -> ModelChange:
    """Begin to change to the configured model, audited; if it has begun or serves, say how far it is."""
    now, wanted = await read_change(core.storage.tenant_database), core.embedder.name
    has_begun = now.next_model == wanted and now.job_id is not None
    if has_begun or (now.model, now.next_model) == (wanted, None):
        return await begin_change(core)
    act = audited(
        core.storage.tenant_database,
        nobodys(scope),
        action="change_model",
        target=wanted,
        detail={"model": now.model, "next_model": now.next_model},
        keeps_message=False,
    )
    async with act:
        await _begin(core, act)
    return await read_change(core.storage.tenant_database)


async def begin_change(core: Core) -> ModelChange:
    """Begin to change to the configured model, or carry on; to the serving one means to call a change off."""
    await _begin(core, None)
    return await read_change(core.storage.tenant_database)


async def _begin(core: Core, act: AuditedAct | None) -> None:
    """The same; if that takes a job, the job ends the act."""
    embedder = core.embedder
    # A model that does not work is known before anything begins.
    (vector,) = await embedder.embed_documents([HARMLESS_TEXT])
    database = core.storage.tenant_database
    async with database.transaction() as transaction:
        await make_vectors(transaction, embedder.name, len(vector))

    async def begin(transaction: Transaction) -> None:
        row = await transaction.one("reembedding.begin", {"model": embedder.name})
        wanted = {"type": CHANGE_JOB, "model": embedder.name}
        if row["is_changing"] and await transaction.first("reembedding.job", wanted) is None:
            payload = {"model": embedder.name, "intent_id": str(act.intent_id) if act is not None else None}
            await enqueue(transaction, CHANGE_JOB, payload, max_attempts=CHANGE_JOB_ATTEMPTS)
            if act is not None:
                act.hand_over()

    await _patiently(database, begin)


async def read_change(database: TenantDatabase) -> ModelChange:
    """Which model serves, and how far a change has come; counts what waits."""
    async with database.transaction(snapshot=True) as transaction:
        row = await transaction.first("reembedding.model") or NO_MODEL
        waiting = await transaction.one("reembedding.waiting")
        memories = await transaction.one("reembedding.memory_count")
        wanted = {"type": CHANGE_JOB, "model": row["next_model"]}
        job = await transaction.first("reembedding.job", wanted) or {"job_id": None}
    if row["next_model"] is not None and not row["is_listed"]:
        waiting = {**waiting, "waiting_count": memories["memory_count"]}
    return ModelChange(row["model"], row["next_model"], **memories, **waiting, job_id=job["job_id"])


async def complete_change(
    core: Core, model: str, report: Report = lambda done, total: None, *, intent_id: UUID | None = None
) -> bool:
    """Do what is left to do of a change to this model, and end its act; returns whether it serves.

    Returns False if the change was called off, or leads somewhere else by now. Raises EmbeddingError if the
    model is down; what was done until then is kept.
    """
    database = core.storage.tenant_database
    try:
        tries = 0
        while (change := await read_change(database)).next_model == model:
            await _list(database, model)
            await _fill(core, model, report)
            await _index_large_owners(core, model)
            tries += 1
            lacking_most = 0 if tries <= STRICT_SWITCHES else LACKING_MAX
            told = _telling(intent_id, "succeeded", {"memory_count": change.memory_count})
            await _switch(database, model, lacking_most=lacking_most, and_then=told)
    except ModelChanged:
        logger.info("the change to another embedding model was called off")
    core.serving_model = (await read_change(database)).model
    await _clear_away(core)
    if core.serving_model != model:
        async with database.transaction() as transaction:
            await _telling(intent_id, "failed", {"error": CALLED_OFF})(transaction)
    return core.serving_model == model


async def _list(database: TenantDatabase, model: str) -> None:
    async with database.transaction() as transaction:
        await transaction.execute("owners.take_long")
        await transaction.execute("reembedding.list", {"model": model})


async def _fill(core: Core, model: str, report: Report) -> None:
    """Embed what is listed, from the first memory to the last, until a round finds less than a batch.

    Writers that never pause list more all the time: the little that is left is the business of the switch.
    """
    database, embedder = core.storage.tenant_database, core.models.embedder_named(model)
    change = await read_change(database)
    done, after = change.memory_count - change.waiting_count, NOWHERE
    while True:
        report(min(max(done, 0), change.memory_count), change.memory_count)
        async with database.transaction() as transaction:
            rows = await transaction.rows("reembedding.batch", {"after": after, "limit": EMBED_BATCH})
        if rows:
            done += await database.run(_storing(model, await embed_rows(embedder, rows)))
        if len(rows) < EMBED_BATCH and after == NOWHERE:
            return
        # The end of the list was reached: from the first one on again.
        after = rows[-1]["memory_id"] if len(rows) == EMBED_BATCH else NOWHERE


def _storing(model: str, embedded: Embedded) -> Callable[[Transaction], Awaitable[int]]:
    async def store(transaction: Transaction) -> int:
        table = await _next_table(transaction, model)
        still = await unchanged(transaction, embedded)
        if still.rows:
            ids, owners = zip(*((row["memory_id"], row["owner"]) for row in still.rows), strict=True)
            await insert_vectors(transaction, table, ids, owners, still.vectors, replace=True)
            await transaction.execute("reembedding.clear", {"ids": list(ids)})
        await refuse(transaction, "reembedding.refuse", still.refused)
        return len(still.rows)

    return store


async def _next_table(transaction: Transaction, model: str) -> VectorTable:
    """The table to fill, which it is until the transaction ends; ModelChanged if it is not."""
    serving = await vectors_in_use(transaction)
    table = await find_vectors(transaction, model)
    if serving is None or table is None or serving.next_name != table.name:
        raise ModelChanged(serving.model if serving is not None else model)
    return table


async def _index_large_owners(core: Core, model: str) -> None:
    """Build what the next model lacks of indexes; without the right to do so recall will search exactly."""
    async with core.storage.tenant_database.transaction() as transaction:
        await transaction.execute("owners.take_long")
        table = await find_vectors(transaction, model)
        owners = await large_owners(transaction, table, above=INDEX_MIN_ROWS) if table is not None else []
    try:
        for large in owners:
            await index_owner(core, large.owner, model=model, turn_wait_s=TURN_WAIT_S)
    except MnemicError as error:
        logger.warning("an index is missing, search is exact until `mnemic index` has run: %s", error)


async def _switch(
    database: TenantDatabase,
    model: str,
    *,
    lacking_most: int,
    and_then: Callable[[Transaction], Awaitable[None]],
) -> None:
    async def switch(transaction: Transaction) -> None:
        parameters = {"model": model, "lacking_most": lacking_most}
        if not (await transaction.one("reembedding.switch", parameters))["is_switched"]:
            return
        await and_then(transaction)
        if lacking_most:
            await enqueue_backlog_job(transaction)

    await _patiently(database, switch)


def _telling(
    intent_id: UUID | None, phase: Literal["succeeded", "failed"], detail: dict[str, Any]
) -> Callable[[Transaction], Awaitable[None]]:
    """What says in a transaction what became of the act, if the change was asked for by one."""

    async def tell(transaction: Transaction) -> None:
        if intent_id is not None:
            await end_act(transaction, intent_id, phase, detail)

    return tell


async def _clear_away(core: Core) -> None:
    """Remove the tenant's vectors of models that do not serve it, and tables that nobody uses."""
    database = core.storage.tenant_database
    async with database.transaction() as transaction:
        models = [row["model"] for row in await transaction.rows("reembedding.other_models")]
    for model in models:
        await _remove_all(database, model)
        await _drop_indexes(core, model)

        async def drop(transaction: Transaction, model: str = model) -> None:
            await transaction.one("reembedding.drop", {"model": model})

        await _patiently(database, drop)


async def _remove_all(database: TenantDatabase, model: str) -> None:
    removed = None
    while removed != 0:
        async with database.transaction() as transaction:
            table = await find_vectors(transaction, model)
            removed = await remove_some_vectors(transaction, table, REMOVE_BATCH) if table is not None else 0


async def _drop_indexes(core: Core, model: str) -> None:
    """Drop the indexes of the tenant's owners on a model's table; a failure is only logged."""
    async with core.storage.tenant_database.transaction() as transaction:
        table = await find_vectors(transaction, model)
        indexes = await list_indexes(transaction, table) if table is not None else []
    try:
        for index in indexes:
            await drop_index(
                admin_conninfo(core.storage, core.settings), limits_of(core.settings), index.name
            )
    except MnemicError as error:
        logger.warning("an index of the former model stays, empty, for now: %s", error)


async def _patiently(database: TenantDatabase, work: Callable[[Transaction], Awaitable[Result]]) -> Result:
    """Do work that needs a lock which long calls may hold, without making others wait behind it for long."""
    for attempt in range(1, HOLD_TRIES + 1):
        try:
            return await database.run(work)
        except ConflictError as error:
            if attempt == HOLD_TRIES or not isinstance(error.__cause__, LockNotAvailable):
                raise
        await asyncio.sleep(HOLD_PAUSE_S)
    raise AssertionError("unreachable: the last attempt returns or raises")
