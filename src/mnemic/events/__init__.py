"""Events: the log of changes, and its readers.

`log` reads the log, `consumers` stores the cursors of named readers, `following` yields events as they
happen, `signal` wakes waiting readers.
"""
