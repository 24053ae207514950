"""Models: what turns text into vectors.

`mnemic.models.embedding` is the way in: `open_embedder` makes a `TextEmbedder` out of ``"local"``,
``"test"``, ``"provider:model"`` or an object. Behind it stand the engines: `local` (the MiniLM that ships
with Mnemic), `testing` (deterministic, for tests) and `pydantic_bridge` (every provider, and both of ours as
models for pydantic-ai's `Embedder`).
"""
