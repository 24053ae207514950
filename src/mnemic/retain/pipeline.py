"""The story of `retain`: from what a caller hands in to memories that are durable and findable.

1. **Check** every item and cut long texts into chunks (`items`, `split`). The first bad item ends the
   call; nothing was written.
2. **Recognise** what is known already, so that it need not be embedded again (`recognise`). A few words
   skip this: asking takes longer than embedding them, and step 4 recognises what is known all the same.
3. **Embed** the rest. An embedder that fails loses nothing: the texts are stored, found by their
   words, and marked for embedding later.
4. **Write** it all in one transaction (`write`): conversations, memories, vectors, links, the log.
   When it returns, the text is durable and findable by words and by meaning. A small call is one
   statement, unless it turns out to need more (`alone`).

Steps 1 to 3 go batch by batch and hold no connection while a model works; ready batches wait in a
`Spool`. So a call is atomic whatever its size, and its memory use does not grow with it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from mnemic.db.database import TenantDatabase, Transaction
from mnemic.db.vectors import Vectors
from mnemic.errors import EmbeddingError
from mnemic.models.embedding_text import embedded_text
from mnemic.retain.deduplicate import recognise
from mnemic.retain.items import Draft, ItemInput, check_fields, drafts
from mnemic.retain.one_statement import (
    LogRow,
    Outcome,
    may_be_alone,
    outcome_alone,
    without_known,
    write_alone,
)
from mnemic.retain.one_transaction import LinkMentions, write
from mnemic.retain.spool import Batch, Spool
from mnemic.retain.write_plan import Plan
from mnemic.types.retained import Retained
from mnemic.types.scope import Scope

BATCH_ROWS = 512
BATCH_CHARACTERS = 1_000_000


class DocumentEmbedder(Protocol):
    """What retaining needs of an embedder."""

    @property
    def name(self) -> str:
        """The model's name; two models never share one."""

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One vector per text, or EmbeddingError."""


@dataclass(frozen=True)
class Collaborators:
    """What the pipeline calls in other packages of its own layer; the SDK brings them together."""

    embedder: DocumentEmbedder
    link_mentions: LinkMentions
    log_row: Callable[[Retained], LogRow | None]
    log_write: Callable[[Transaction, Retained], Awaitable[None]]


async def retain(
    database: TenantDatabase,
    scope: Scope,
    collaborators: Collaborators,
    items: Iterable[ItemInput],
    defaults: Mapping[str, Any],
    *,
    and_then: Callable[[Transaction, Retained], Awaitable[None]] | None = None,
    on_progress: Callable[[int], None] = lambda count: None,
) -> Retained:
    """Store every item or none.

    `and_then` does more in the same transaction, once the items are stored. `on_progress` hears how
    many items have been made ready so far.
    """
    plan = Plan(scope, collaborators.embedder.name)
    with Spool() as spool:
        async for batch in _ready_batches(database, scope, collaborators.embedder, items, defaults):
            spool.append(batch)
            plan.add(batch)
            on_progress(plan.item_count)

        (only,) = spool if plan.batch_count == 1 and and_then is None else (None,)
        outcome: Outcome = "more"
        if only is not None and may_be_alone(plan, only):
            retained = outcome_alone(only)
            outcome = await write_alone(database, plan, only, collaborators.log_row(retained))
            if outcome == "stored":
                return retained

        async def write_and_log(transaction: Transaction) -> Retained:
            needed: tuple[Plan, Iterable[Batch]] = plan, spool
            if only is not None and outcome == "known":
                lesser, rest = await without_known(transaction, plan, only)
                needed = lesser, [rest]
            retained = await write(transaction, *needed, collaborators.link_mentions)
            if and_then is not None:
                await and_then(transaction, retained)
            await collaborators.log_write(transaction, retained)
            return retained

        return await database.run(write_and_log)


async def _ready_batches(
    database: TenantDatabase,
    scope: Scope,
    embedder: DocumentEmbedder,
    items: Iterable[ItemInput],
    defaults: Mapping[str, Any],
) -> AsyncIterator[Batch]:
    for group in _groups(drafts(items, check_fields(defaults))):
        recognised = await recognise(database, scope.require_owner(), group)
        vectors, error = await _embed(embedder, recognised.new)
        yield Batch(recognised.new, vectors, error, recognised.duplicates, recognised.refused)


async def _embed(embedder: DocumentEmbedder, new: Sequence[Draft]) -> tuple[Vectors | None, str | None]:
    """The vectors of all chunks, or why there are none."""
    texts = [embedded_text(draft.item.name, chunk.content) for draft in new for chunk in draft.chunks]
    if not texts:
        return None, None
    try:
        return await embedder.embed_documents(texts), None
    except EmbeddingError as error:
        return None, str(error)


def _groups(all_drafts: Iterable[Draft]) -> Iterator[list[Draft]]:
    """Drafts in groups of bounded rows and characters; a draft that is larger stands alone."""
    group: list[Draft] = []
    rows = characters = 0
    for draft in all_drafts:
        size = len(draft.item.content)
        if group and (rows + len(draft.chunks) > BATCH_ROWS or characters + size > BATCH_CHARACTERS):
            yield group
            group, rows, characters = [], 0, 0
        group.append(draft)
        rows += len(draft.chunks)
        characters += size
    if group:
        yield group
