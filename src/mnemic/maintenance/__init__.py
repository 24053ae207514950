"""Keeping an installation in order: daily jobs, overview, metrics, migration, doctor."""
