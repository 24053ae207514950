"""Read sources with an extractor, check what it proposes, and store it."""

from collections.abc import Sequence
from hashlib import sha256

from mnemic.db.database import TenantDatabase
from mnemic.extraction.checking import check_statements, folded
from mnemic.extraction.protocol import Extractor, KnownStatement, ProposedStatement, SourceText
from mnemic.extraction.storing import AndThen, SourceBatch, StoredStatements, store_statements
from mnemic.runtime.core import Caller
from mnemic.text_analysis.assertions import sentences_of
from mnemic.types.scope import Scope
from mnemic.types.statement import ContradictionPolicy

KNOWN_MAX = 20
"""Current statements that an extractor is shown, the newest ones."""
RECALLED_LOOKUPS_MAX = 512
"""Sentences of one batch that are compared with stored memories."""


async def extract_batch(
    caller: Caller,
    extractor: Extractor,
    batch: SourceBatch,
    *,
    policy: ContradictionPolicy | None = None,
    and_then: AndThen | None = None,
) -> StoredStatements:
    """Extract statements from a batch of sources and store them; raises what the extractor raises.

    No transaction is open while the extractor works.
    """
    known = await read_known(caller.database, batch.scope)
    proposals = await extractor.extract(batch.sources, known)
    recalled = await recalled_sentences(caller.database, batch.scope, proposals, batch.sources)
    instructions = getattr(extractor, "instructions", "")
    checked = check_statements(proposals, batch.sources, known, recalled, instructions)
    return await store_statements(
        caller, batch, checked.accepted, checked.rejected, policy=policy, and_then=and_then
    )


async def read_known(database: TenantDatabase, scope: Scope) -> list[KnownStatement]:
    """The newest current statements of the owner in the channel."""
    parameters = {"owner": scope.require_owner(), "channel": scope.channel, "limit": KNOWN_MAX}
    async with database.transaction() as transaction:
        return [KnownStatement(**row) for row in await transaction.rows("statements.known", parameters)]


async def recalled_sentences(
    database: TenantDatabase,
    scope: Scope,
    proposals: Sequence[ProposedStatement],
    sources: Sequence[SourceText],
) -> frozenset[str]:
    """Quoted sentences of turns, folded, that are word for word the content of another memory."""
    turns = {source.memory_id: source for source in sources if source.position is not None}
    texts = [
        text
        for proposal in proposals
        if proposal.source_id in turns
        for text in (proposal.quotation, *_sentences_with(turns[proposal.source_id].text, proposal.quotation))
    ]
    distinct = list(dict.fromkeys(text.strip() for text in texts))[:RECALLED_LOOKUPS_MAX]
    if not distinct:
        return frozenset()
    parameters = {
        "owner": scope.require_owner(),
        "indexes": list(range(len(distinct))),
        # The hash of a memory that is neither a turn nor a chunk (`mnemic.content_hash`).
        "hashes": " ".join(sha256(f"\n{text}".encode("utf-8", "replace")).hexdigest() for text in distinct),
        "source_ids": [source.memory_id for source in sources],
    }
    async with database.transaction() as transaction:
        rows = await transaction.rows_unprepared("statements.recalled", parameters)
    return frozenset(folded(distinct[row["index"]]) for row in rows)


def _sentences_with(text: str, quotation: str) -> list[str]:
    wanted = folded(quotation)
    return [
        each.text for each in sentences_of(text) if wanted in folded(each.text) or folded(each.text) in wanted
    ]
