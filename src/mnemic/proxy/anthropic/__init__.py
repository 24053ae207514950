"""The Anthropic Messages API.

The client's transcript becomes the provider's in one pass over the messages (`rewriting.py`), and the
provider's responses become one response for the client (`relay.py`). Both name a turn of the assistant by the
same key (`turns.py`), so that what the client never saw is inserted again at the same place.

A thinking block is valid only while everything before it stays as it was when the model wrote it
(https://platform.claude.com/docs/en/build-with-claude/preserved-thinking). `thinking.py` removes blocks that
an epoch made invalid, always the same ones; `opening.py` inserts recalled memories as a turn of their own, so
that no turn of the model begins without its thinking.
"""
