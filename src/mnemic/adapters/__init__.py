"""Adapters: Mnemic as the memory of other frameworks, and imports from other memory systems."""
