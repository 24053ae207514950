"""Which embedding model serves a tenant: the one that its vectors are of, whatever is configured.

The configured embedder serves a tenant that has no vectors yet, and is what `reembed` changes to. Otherwise
the vectors decide: queries and new memories are embedded by the model that made them, until a change is
complete (docs/adr/0014-changing-the-embedding-model.md). A process asks once and remembers the answer. If
that is out of date, the database says so (`ModelChanged`, or memories that wait for their vector), and it
asks again.
"""

from mnemic.models.embedding import TextEmbedder
from mnemic.runtime.core import Core


async def serving_embedder(core: Core) -> TextEmbedder:
    """The embedder to use for queries and for new memories."""
    if core.serving_model is None:
        async with core.storage.tenant_database.transaction() as transaction:
            row = await transaction.first("reembedding.model")
            row = row if row is not None else await transaction.one("reembedding.adopt")
        core.serving_model = row["model"]
    return core.models.embedder_named(core.serving_model) if core.serving_model is not None else core.embedder
