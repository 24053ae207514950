"""Embedding models, language models, rerankers and token counters.

Start with `mnemic.models.embedding`: `open_embedder` makes a `TextEmbedder` out of ``"local"``,
``"test"``, ``"provider:model"`` or an object. The engines behind it are `local` (the MiniLM that ships
with Mnemic), `testing` (deterministic, for tests) and `pydantic_bridge` (every provider, and both of these as
models for pydantic-ai's `Embedder`).
"""
