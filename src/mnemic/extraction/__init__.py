"""Statements from what was said: extractors, the checks of what they propose, and storing."""
