"""The groups of calls on a memory: `memory.state`, `memory.entities` and so on.

A group holds no logic: it resolves owner and channel and calls the layer below.
"""
