"""The serving embedding model of a tenant: the model of its vectors, whatever is configured.

The configured embedder serves a tenant without vectors, and is the target of `reembed`. Otherwise queries and
new memories are embedded with the model of the existing vectors, until a change is complete
(docs/adr/0014-changing-the-embedding-model.md). A process reads the serving model once. When that is out of
date, the database reports it (`ModelChanged`, or memories in the embedding backlog), and the process reads it
again.
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
    return embedder_in_turns(core, core.serving_model or core.embedder.name)


def embedder_in_turns(core: Core, name: str) -> TextEmbedder:
    """The embedder with this name; the tenants of a server take turns at its process."""
    return core.models.embedder_named(name).in_turns(lambda: core.embedding_turns.slot(core.tenant.id))
