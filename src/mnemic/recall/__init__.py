"""Recall: memories that matter for a query, each explained, or a refusal. Start with `pipeline.py`."""
