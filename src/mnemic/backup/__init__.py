"""Backup and restore of a whole database, export and import of one owner."""
