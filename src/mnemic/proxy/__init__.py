"""A proxy that gives the memory to any agent: the agent changes one URL.

It speaks the Anthropic Messages, OpenAI Chat Completions and OpenAI Responses APIs. There are two
transcripts: the client's and the provider's. They differ by what the proxy added (hidden calls of memory
tools with their results, recalled memories) and by what it shortened (`mnemic.context`). The provider's
transcript is computed from the client's and from stored decisions, so that every request repeats the one
before exactly and appends to it.

Whenever the proxy is unsure, it forwards the bytes that it received.
"""
