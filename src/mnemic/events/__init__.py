"""Events: the log of what happened, and those who follow it.

`log` reads it, `consumers` keeps the places of those who follow it under a name, `following` is how one
follows it, `signal` wakes whoever waits for more.
"""
