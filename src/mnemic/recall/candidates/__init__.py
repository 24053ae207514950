"""Candidates of a recall: one module for each way to find them."""
