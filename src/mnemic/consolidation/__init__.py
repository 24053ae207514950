"""Consolidation: learn from what was said since the last pass."""
