"""Tiers besides memories: state documents, append-only events, documents, flagged actors."""
