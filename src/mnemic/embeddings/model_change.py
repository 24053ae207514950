"""Change the embedding model of a tenant while it stays in use.

1. **Begin**: the configured model becomes the next one. From then on, every write of a vector of the serving
   model
   also lists the memory in `queue.reembedding`.
2. **List** all memories from before.
3. **Fill**: embed the listed memories with the next model, batch by batch, until none is left. Recall uses
   the old
   vectors meanwhile.
4. **Index** owners with many vectors, so that the first recall after the switch is no slower.
5. **Switch** in one transaction, which blocks all writers of the tenant briefly. If memories were listed
   meanwhile, go
   back to 3. After some attempts the few that are left are embedded after the switch.
6. **Clean up** the tenant's vectors of other models, and tables that no tenant uses.

Each step reads from the database whether it was done, so that a killed job resumes where it was. The call
that begins a change writes its intent to the audit log; the job writes the outcome, with the switch or when
it finds that the change was called off. docs/adr/0014-changing-the-embedding-model.md gives the reasons.
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
    record_refused,
    unchanged,
)
from mnemic.embeddings.indexes import TURN_WAIT_S, admin_conninfo, index_owner
from mnemic.errors import ConflictError, MnemicError
from mnemic.govern.audit import AuditedAct, audited, end_act, without_owner
from mnemic.jobs.queue import enqueue
from mnemic.runtime.core import Core
from mnemic.runtime.serving_model import embedder_in_turns
from mnemic.runtime.storage import limits_of
from mnemic.types.embedding import ModelChange
from mnemic.types.scope import Scope

CHANGE_JOB = "embeddings.change_model"
CHANGE_JOB_ATTEMPTS = 50
REMOVE_BATCH = 2_000
STRICT_SWITCHES = 5
"""Attempts to switch with nothing left to embed; after that up to `LACKING_MAX` memories may be left."""
LACKING_MAX = 1_000
HOLD_TRIES = 600
"""Attempts to get a lock that long calls hold; each waits 0.3 s, so that others are not blocked for long."""
HOLD_PAUSE_S = 0.5
CALLED_OFF = "called off"

NOWHERE = UUID(int=0)
NO_MODEL: dict[str, Any] = {"model": None, "next_model": None, "is_listed": False}
Report = Callable[[int, int], None]
Result = TypeVar("Result")

logger = logging.getLogger("mnemic.reembedding")


async def ask_for_change(core: Core, scope: Scope) -> ModelChange:
    """Begin to change to the configured model, audited. If it has begun or is done, returns its progress."""
    now, wanted = await read_change(core.storage.tenant_database), core.embedder.name
    has_begun = now.next_model == wanted and now.job_id is not None
    if has_begun or (now.model, now.next_model) == (wanted, None):
        return await begin_change(core)
    act = audited(
        core.storage.tenant_database,
        without_owner(scope),
        action="change_model",
        target=wanted,
        detail={"model": now.model, "next_model": now.next_model},
        keeps_message=False,
    )
    async with act:
        await _begin(core, act)
    return await read_change(core.storage.tenant_database)


async def begin_change(core: Core) -> ModelChange:
    """Begin or resume the change to the configured model; the serving model calls a change off."""
    await _begin(core, None)
    return await read_change(core.storage.tenant_database)


async def _begin(core: Core, act: AuditedAct | None) -> None:
    """The same; if a job is needed, the job ends the audited act."""
    embedder = core.embedder
    # A model that does not work fails here, before anything is changed.
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

    await _retry_lock(database, begin)


async def read_change(database: TenantDatabase) -> ModelChange:
    """The serving model and the progress of a change; counts the memories left to embed."""
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
    """Complete a change to this model and end its audited act; returns whether the model serves now.

    Returns False if the change was called off or replaced by another. Raises EmbeddingError if the model is
    down; batches stored until then are kept.
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
            record_success = _recording_outcome(intent_id, "succeeded", {"memory_count": change.memory_count})
            await _switch(database, model, lacking_most=lacking_most, and_then=record_success)
    except ModelChanged:
        logger.info("the change to another embedding model was called off")
    core.serving_model = (await read_change(database)).model
    await _clean_up(core)
    if core.serving_model != model:
        async with database.transaction() as transaction:
            await _recording_outcome(intent_id, "failed", {"error": CALLED_OFF})(transaction)
    return core.serving_model == model


async def _list(database: TenantDatabase, model: str) -> None:
    async with database.transaction() as transaction:
        await transaction.extend_timeout()
        await transaction.execute("reembedding.list", {"model": model})


async def _fill(core: Core, model: str, report: Report) -> None:
    """Embed the listed memories in order, in rounds, until a round from the start finds less than a batch.

    Concurrent writers may list more all the time; the switch deals with the few that are left.
    """
    database, embedder = core.storage.tenant_database, embedder_in_turns(core, model)
    change = await read_change(database)
    done, after = change.memory_count - change.waiting_count, NOWHERE
    while True:
        report(min(max(done, 0), change.memory_count), change.memory_count)
        async with database.transaction() as transaction:
            rows = await transaction.rows("reembedding.batch", {"after": after, "limit": EMBED_BATCH})
        if rows:
            done += await database.run(_store_batch(model, await embed_rows(embedder, rows)))
        if len(rows) < EMBED_BATCH and after == NOWHERE:
            return
        # At the end of the list, start again from the first.
        after = rows[-1]["memory_id"] if len(rows) == EMBED_BATCH else NOWHERE


def _store_batch(model: str, embedded: Embedded) -> Callable[[Transaction], Awaitable[int]]:
    async def store(transaction: Transaction) -> int:
        table = await _next_table(transaction, model)
        current = await unchanged(transaction, embedded)
        if current.rows:
            ids, owners = zip(*((row["memory_id"], row["owner"]) for row in current.rows), strict=True)
            await insert_vectors(transaction, table, ids, owners, current.vectors, replace=True)
            await transaction.execute("reembedding.clear", {"ids": list(ids)})
        await record_refused(transaction, "reembedding.refuse", current.refused)
        return len(current.rows)

    return store


async def _next_table(transaction: Transaction, model: str) -> VectorTable:
    """The table to fill, locked until the transaction ends; ModelChanged if it is not the next one."""
    serving = await vectors_in_use(transaction)
    table = await find_vectors(transaction, model)
    if serving is None or table is None or serving.next_name != table.name:
        raise ModelChanged(serving.model if serving is not None else model)
    return table


async def _index_large_owners(core: Core, model: str) -> None:
    """Build missing indexes for the next model; without the privilege, recall searches exactly."""
    async with core.storage.tenant_database.transaction() as transaction:
        await transaction.extend_timeout()
        table = await find_vectors(transaction, model)
        owners = await large_owners(transaction, table, above=INDEX_MIN_ROWS) if table is not None else []
    try:
        for large in owners:
            await index_owner(core, large.owner, model=model, turn_wait_s=TURN_WAIT_S)
    except MnemicError as error:
        logger.warning("an index is missing, search is exact until `mnemic index` runs: %s", error)


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

    await _retry_lock(database, switch)


def _recording_outcome(
    intent_id: UUID | None, phase: Literal["succeeded", "failed"], detail: dict[str, Any]
) -> Callable[[Transaction], Awaitable[None]]:
    """A function that ends the audited act in a transaction, if there is one."""

    async def record(transaction: Transaction) -> None:
        if intent_id is not None:
            await end_act(transaction, intent_id, phase, detail)

    return record


async def _clean_up(core: Core) -> None:
    """Delete the tenant's vectors of other models, and tables that no tenant uses."""
    database = core.storage.tenant_database
    async with database.transaction() as transaction:
        models = [row["model"] for row in await transaction.rows("reembedding.other_models")]
    for model in models:
        await _remove_all(database, model)
        await _drop_indexes(core, model)

        async def drop(transaction: Transaction, model: str = model) -> None:
            await transaction.one("reembedding.drop", {"model": model})

        await _retry_lock(database, drop)


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
        logger.warning("an empty index of the former model was not dropped: %s", error)


async def _retry_lock(database: TenantDatabase, work: Callable[[Transaction], Awaitable[Result]]) -> Result:
    """Run work that needs a lock which long calls may hold, without blocking others for long."""
    for attempt in range(1, HOLD_TRIES + 1):
        try:
            return await database.run(work)
        except ConflictError as error:
            if attempt == HOLD_TRIES or not isinstance(error.__cause__, LockNotAvailable):
                raise
        await asyncio.sleep(HOLD_PAUSE_S)
    raise AssertionError("unreachable: the last attempt returns or raises")
