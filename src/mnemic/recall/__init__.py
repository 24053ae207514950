"""Recall: find what matters, say why, or refuse."""
