"""The write path: from the items of a caller to memories that are durable and can be recalled.

1. **Check** every item and split long texts into chunks (`items`, `split`). The first invalid item fails the
   call; nothing is stored.
2. **Deduplicate** (`deduplicate`): items that the owner has already are not embedded again.
3. **Embed** the others (`embed`). If the embedder fails, the texts are stored without vectors, lexical search
   finds them, and a job embeds them later.
4. **Write** everything in one statement if the call is small and needs nothing else (`one_statement`),
   otherwise in one transaction (`one_transaction`).

Steps 1 to 3 run batch by batch, and no connection is held while a model computes vectors. A `Spool` keeps the
batches until step 4. So a call is atomic whatever its size, and its memory use is bounded.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from mnemic.db.database import TenantDatabase
from mnemic.retain.batches import Batch, in_groups
from mnemic.retain.call_log import CallLog
from mnemic.retain.comparing import request_comparison
from mnemic.retain.deduplicate import deduplicate
from mnemic.retain.embed import embed
from mnemic.retain.items import ItemInput, check_items
from mnemic.retain.one_statement import fits_one_statement, write_in_one_statement
from mnemic.retain.one_transaction import AndThen, write_in_one_transaction
from mnemic.retain.spool import Spool
from mnemic.retain.write_plan import WritePlan
from mnemic.runtime.core import Caller
from mnemic.runtime.serving_model import serving_embedder
from mnemic.types.retained import Retained


async def retain_items(
    caller: Caller,
    items: Iterable[ItemInput],
    defaults: Mapping[str, Any],
    *,
    owner: str | None = None,
    channel: str | None = None,
    and_then: AndThen | None = None,
    on_progress: Callable[[int], None] = lambda count: None,
    contexts: Mapping[str, str] = MappingProxyType({}),
) -> Retained:
    """Store every item or none, in the caller's scope.

    `defaults` are fields of the items that do not have them. `and_then` runs in the same transaction, after
    the items are stored. `on_progress` gets the number of items prepared so far. `contexts` maps contents to
    the text that is embedded before them.
    """
    scope = caller.scoped(owner, channel)
    embedder = await serving_embedder(caller.core)
    plan = WritePlan(scope, embedder.name)
    log = CallLog(caller.core.settings.memory_log, scope, defaults.get("conversation"))
    with caller.core.measured_call("retain") as call, Spool() as spool:
        for drafts in in_groups(check_items(items, defaults)):
            found = await deduplicate(caller.database, scope, drafts)
            vectors, error = await embed(embedder, found.new, contexts)
            batch = Batch(found.new, vectors, error, found.duplicates, found.refused)
            spool.append(batch)
            plan.add(batch)
            on_progress(plan.item_count)
        retained = await _write(caller.database, plan, spool, log, and_then)
        call.memory_count = retained.stored_count
    if retained.stored_count:
        # Memories without a vector may mean that another model serves by now: then look that up again.
        caller.core.serving_model = None if retained.awaiting_embedding_count else embedder.name
        request_comparison(caller.core, plan.owner)
    return retained


async def _write(
    database: TenantDatabase, plan: WritePlan, spool: Spool, log: CallLog, and_then: AndThen | None
) -> Retained:
    """Write the prepared batches in one statement if that is possible, else in one transaction."""
    batches: Iterable[Batch] = spool
    if and_then is None and fits_one_statement(plan, spool):
        (batch,) = spool
        written = await write_in_one_statement(database, plan, batch, log)
        if isinstance(written, Retained):
            return written
        batches = [batch.without_known(written)]
        plan = plan.replanned(batches)
    return await database.run(
        lambda transaction: write_in_one_transaction(transaction, plan, batches, log, and_then)
    )
