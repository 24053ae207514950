"""Governance: audit log, memory log, API keys, grants, tenants, erasure, idempotent requests."""
