"""Promotion: memories that proved useful in several conversations become visible in all channels."""
