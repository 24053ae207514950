"""Texts that try to run a script: on every page, part of a page, event and error, none does."""
