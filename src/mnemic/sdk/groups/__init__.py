"""The groups of calls on a memory: `memory.state`, `memory.entities` and so on.

A group parses nothing and decides nothing: it settles owner and channel and calls the layer below.
"""
