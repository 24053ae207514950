"""Embed the new drafts of a batch. A failing embedder does not fail the call."""

from collections.abc import Mapping, Sequence

from mnemic.db.vectors import Vectors
from mnemic.errors import EmbeddingError
from mnemic.models.embedding import TextEmbedder
from mnemic.models.embedding_text import embedded_text
from mnemic.retain.items import Draft


async def embed(
    embedder: TextEmbedder, drafts: Sequence[Draft], contexts: Mapping[str, str]
) -> tuple[Vectors | None, str | None]:
    """The vectors of all chunks of the drafts, or None and the embedder's error message.

    `contexts` maps a content to the text that precedes it in its document, which is embedded with it.
    """
    texts = [
        embedded_text(draft.item.name, chunk.content, contexts.get(chunk.content, ""))
        for draft in drafts
        for chunk in draft.chunks
    ]
    if not texts:
        return None, None
    try:
        return await embedder.embed_documents(texts), None
    except EmbeddingError as error:
        return None, str(error)
