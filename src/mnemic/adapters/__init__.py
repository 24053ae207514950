"""Mnemic inside other people's frameworks, and other people's memories inside Mnemic."""
